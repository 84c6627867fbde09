//! How an agent that has ended goes on with what it knows.

use std::sync::Arc;

use adjutant_core::{Context, Delivery, Isolation, Order, Refusal};

use crate::{
    clock::Clock,
    host::CallHost,
    life::{self, Birth},
    places::Places,
    roster::Entry,
    start::{cut_by_parent, least},
};

/// Makes a child go on with another task. It holds what it held, and may spend as much again.
pub(crate) fn revive(host: &CallHost, child: &Entry, task: String) -> Result<(), Refusal> {
    let (above, shared) = (&host.seat, &host.seat.shared);
    let path = &child.identity.path;
    if let Some(parent) = path.parent().filter(|parent| parent != above.path()) {
        return Err(Refusal::NotYours { path: path.clone(), state: child.state(), parent });
    }
    if child.isolation == Isolation::Worktree {
        return Err(Refusal::PlaceGone { path: path.clone(), state: child.state() });
    }
    if above.work.is_cancelled() {
        return Err(Refusal::Stopping);
    }
    above.entry.purse.check()?;
    let places = Places::take(shared, &above.family.places)?;
    let Some(remains) = shared.roster.take_remains(child.identity.id) else {
        return Err(Refusal::Ended { path: path.clone(), state: child.state() });
    };
    let (context, delivery) = (Context::Own, Delivery::Pushed);
    let order = Order { task, context, delivery, ..Order::clone(&remains.order) };
    let allowance = order.limits.allowance;
    let clamped = cut_by_parent(above, order.limits.asked).collect();
    let purse = above.entry.purse.child(path.clone(), allowance);
    let birth = Birth {
        shared: Arc::clone(shared),
        path: path.clone(),
        id: Some(child.identity.id),
        born: remains.born,
        call: Some(host.call.clone()),
        kit: remains.kit,
        purse,
        clock: Clock::start(least(allowance.time(), above.entry.clock.left())),
        cancel: above.work.child_token(),
        bench: None,
        places,
        parent: Some(Arc::clone(above)),
    };
    above.custody.forget(child.identity.id);
    life::launch(birth, order, remains.history, clamped);
    Ok(())
}
