//! An agent's life, from its beginning to its end: the root's and every other's.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
};

use adjutant_core::{
    AgentId, AgentPath, Bench, CallId, Clamp, Delivery, EventKind, History, Message, Order, Origin,
    Outcome, Purse, Receipt, Refusal, Report, Started, When,
};
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    agent::Agent,
    answer::Answer,
    clock::Clock,
    comms,
    custody::Custody,
    dispatch::message_of,
    hooks::FailedHooks,
    kit::Kit,
    mailbox::{Letter, NotTaken},
    places::Places,
    roster::{Entry, Remains},
    seat::{Family, Identity, Seat},
    session::{Shared, Written},
};

/// What an agent is given when it comes to be.
pub(crate) struct Birth {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: AgentPath,
    /// Who it was, if it has been there before.
    pub(crate) id: Option<AgentId>,
    /// How many children it has had.
    pub(crate) born: u32,
    pub(crate) call: Option<CallId>,
    pub(crate) kit: Kit,
    pub(crate) purse: Arc<Purse>,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancellationToken,
    pub(crate) bench: Option<Box<dyn Bench>>,
    pub(crate) places: Places,
    pub(crate) parent: Option<Arc<Seat>>,
}

/// Puts an agent to work in a task of its own: the root and every other.
pub(crate) fn launch(
    birth: Birth,
    order: Order,
    mut history: History,
    clamped: Vec<Clamp>,
) -> Started {
    let Birth { shared, path, id, born, call, kit, purse, clock, .. } = birth;
    let Birth { cancel, bench, places, parent, .. } = birth;
    let Kit { model, chosen, instructions, answer, tools, grant, workdir } = kit;
    let system = system(&path, &order, &instructions, answer.as_ref());
    let id = id.unwrap_or_else(|| AgentId::from(Uuid::now_v7()));
    let identity = Arc::new(Identity { path, id, call });
    let work = cancel.child_token();
    let order = Arc::new(order);
    let entry = Entry::new(identity, &order, cancel, purse, Arc::new(clock));
    let family = parent.as_ref().map(|parent| Arc::clone(&parent.family.places));
    let entry = Arc::new(entry.with_places_in(family));
    if let Some(parent) = &parent {
        parent.custody.adopt(Arc::clone(&entry));
    }
    let (custody, family) =
        (Custody::default(), Family::of(shared.settings.max_children_per_agent, born));
    let seat = Seat {
        shared,
        entry,
        model,
        chosen,
        instructions,
        system,
        answer,
        tools,
        grant,
        work,
        custody,
        workdir,
        family,
        bench: Mutex::new(bench),
        failed_hooks: FailedHooks::default(),
        order: Arc::clone(&order),
        parent: parent.clone(),
    };
    let origin = if parent.is_some() { Origin::Parent } else { Origin::Person };
    let task = Arc::new(Message::user(origin, &order.task));
    let inherited = history.messages().len();
    let begun = seat.begin(&clamped, inherited, Arc::clone(&task));
    history.push(task);
    // Known to others from here on, so that nothing reaches the journal before its beginning.
    seat.shared.roster.enter(Arc::clone(&seat.entry));
    let started = Started {
        id: seat.entry.identity.id,
        path: seat.path().clone(),
        model: Arc::clone(&seat.model.info().name),
        inherited,
        clamped: clamped.clone(),
    };
    let agent = Agent::new(Arc::new(seat), history, places);
    tokio::spawn(live(agent, begun, clamped));
    started
}

/// Returns all an agent is told before its task.
fn system(
    path: &AgentPath,
    order: &Order,
    instructions: &Arc<str>,
    answer: Option<&Answer>,
) -> Arc<str> {
    let told = match comms::instructions(path, order.peers) {
        Some(comms) => format!("{instructions}\n\n{comms}").trim_start().into(),
        None => Arc::clone(instructions),
    };
    match answer {
        Some(answer) => answer.ask(&told),
        None => told,
    }
}

impl Seat {
    /// Writes the beginning of the agent. This is done by whoever starts it and not in
    /// its own task, so that siblings begin in the order in which they were called for.
    fn begin(&self, clamped: &[Clamp], inherited: usize, task: Arc<Message>) -> Written {
        let started = EventKind::Started {
            order: Arc::clone(&self.order),
            model: Arc::clone(&self.model.info().name),
            chosen: self.chosen,
            mode: self.grant.mode(),
            tools: self.tools.names(),
            clamped: clamped.to_vec(),
            inherited,
            workdir: self.workdir.to_str().map(str::to_owned),
        };
        let said = EventKind::Said { message: task };
        self.shared.write(&self.entry.identity, vec![started, said])
    }
}

/// An agent's whole life, up to `Finished`.
async fn live(mut agent: Agent, begun: Written, clamped: Vec<Clamp>) {
    let seat = Arc::clone(&agent.seat);
    let run = AssertUnwindSafe(agent.run(begun)).catch_unwind().await;
    let outcome = run.unwrap_or_else(|panic| agent.broken(message_of(&*panic)));
    let Agent { receipt, history, places, looks, .. } = agent;
    let receipt = Receipt { clamped, ..receipt };
    let report = wind_up(&seat, outcome, receipt).await;
    seat.shared.memory.keep(&seat, looks, &report);
    // The places are free before anybody hears of the end, so that who hears can use them.
    drop(places);
    // So is what is left of it, so that who hears can make it go on.
    seat.shared.roster.retire(seat.entry.identity.id, Remains::of(&seat, history));
    seat.entry.finish(report);
    if let (Some(parent), Delivery::Pushed) = (&seat.parent, seat.entry.delivery) {
        // A parent that has left needs no news.
        let _ = parent.entry.mailbox.post(Letter::Ended(Arc::clone(&seat.entry)));
    }
}

/// Sees everything ended that the agent started, then records that it is gone.
async fn wind_up(seat: &Arc<Seat>, outcome: Outcome, receipt: Receipt) -> Report {
    let Seat { entry, shared, custody, .. } = &**seat;
    let unheard = entry.mailbox.close();
    custody.dismiss();
    entry.cancel.cancel();
    let mut uncontained = custody.empty(shared.settings.containment).await;
    seat.hook_end(&outcome).await;
    uncontained.extend(custody.empty(shared.settings.containment).await);
    let spending = entry.purse.spending();
    let mut receipt = Receipt {
        calls: spending.calls,
        usage: spending.own,
        tokens: spending.tokens,
        micros: spending.micros,
        millis: entry.millis(),
        unfinished: custody.unfinished(),
        uncontained,
        unheard,
        failed_hooks: seat.failed_hooks.take(),
        ..receipt
    };
    seat.hand_over(&outcome, &mut receipt).await;
    let (outcome, receipt) = (Arc::new(outcome), Arc::new(receipt));
    let (kept, facts) = (Arc::clone(&outcome), Arc::clone(&receipt));
    // Whoever waits learns the outcome even if the journal cannot keep it.
    let recorded = seat.record(vec![EventKind::Finished { outcome: kept, receipt: facts }]).await;
    if seat.path().depth() == 0 {
        shared.lost.send_replace(recorded.err());
    }
    Report { id: entry.identity.id, path: seat.path().clone(), outcome, receipt }
}

impl Shared {
    /// Puts a message into an agent's mailbox, recorded first.
    pub(crate) async fn mail(
        &self,
        to: &Entry,
        from: Option<AgentPath>,
        text: String,
        when: When,
    ) -> Result<(), Refusal> {
        // Found before it wakes, so that nobody who has a place waits for somebody who has none.
        let places = to.find_places(self)?;
        let mailed = EventKind::Mailed { from: from.clone(), text: text.clone(), when };
        let letter = Letter::Message { from, text, when };
        let written = to.mailbox.post_with(letter, || {
            to.give_places(places);
            self.write(&to.identity, vec![mailed])
        });
        let path = || to.identity.path.clone();
        let written = written.map_err(|why| match why {
            NotTaken::Closed => Refusal::Ended { path: path(), state: to.state() },
            NotTaken::Full => Refusal::MailboxFull(path()),
        })?;
        written.await.map(|_| ()).map_err(|error| Refusal::Broken(error.to_string()))
    }
}
