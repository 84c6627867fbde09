//! The checks of buses.

use adjutant_core::{
    Address, AgentPath, Bus, Command, Detail, Errand, Event, EventKind, Fragment, Sight,
    Undelivered,
};
use futures_util::{FutureExt, StreamExt, future::join, stream::BoxStream};

use super::sample::{named, session};

fn at(number: u128, path: &AgentPath) -> Address {
    Address { session: session(number), path: path.clone() }
}

fn say(text: &str) -> Command {
    Command::Say { text: text.to_owned() }
}

fn kept(seq: u64) -> Event {
    Event { seq, ..named("") }
}

fn fragment(text: &str) -> Event {
    let kind = EventKind::Saying { of: Fragment::Text, text: text.to_owned() };
    Event { kind, ..named("") }
}

/// Hears one command and obeys it.
async fn hear(listener: &mut BoxStream<'static, Errand>) -> (AgentPath, Command) {
    let errand = listener.next().await.unwrap();
    let heard = (errand.to.clone(), errand.command.clone());
    errand.answer(Ok(()));
    heard
}

/// Sends a command while somebody hears it.
async fn obeyed(bus: &dyn Bus, to: Address, listener: &mut BoxStream<'static, Errand>) {
    let command = say(to.path.as_str());
    let (sent, heard) = join(bus.send(to.clone(), command.clone()), hear(listener)).await;
    assert_eq!((sent, heard), (Ok(()), (to.path, command)));
}

async fn reaches_nobody(bus: &dyn Bus, to: Address) {
    let nobody = Err(Undelivered::Nobody(to.path.clone()));
    assert_eq!(bus.send(to, Command::Cancel).await, nobody);
}

pub(super) async fn a_listener_hears_its_subtree(bus: &dyn Bus) {
    let root = AgentPath::root();
    let (scout, namesake) = (root.child("scout", 1), root.child("scout", 11));
    let reader = scout.child("reader", 1);
    let mut scout_hears = bus.listen(at(1, &scout));
    obeyed(bus, at(1, &scout), &mut scout_hears).await;
    obeyed(bus, at(1, &reader), &mut scout_hears).await;
    for elsewhere in [at(1, &root), at(1, &namesake), at(2, &scout)] {
        reaches_nobody(bus, elsewhere).await;
    }
    let mut root_hears = bus.listen(at(1, &root));
    obeyed(bus, at(1, &reader), &mut scout_hears).await;
    obeyed(bus, at(1, &namesake), &mut root_hears).await;
    drop(scout_hears);
    obeyed(bus, at(1, &reader), &mut root_hears).await;
}

pub(super) async fn who_sends_learns_what_became_of_it(bus: &dyn Bus) {
    let root = AgentPath::root();
    let mut listener = bus.listen(at(1, &root));
    let refuse = async { listener.next().await.unwrap().answer(Err("no".to_owned())) };
    let (sent, ()) = join(bus.send(at(1, &root), Command::Cancel), refuse).await;
    assert_eq!(sent, Err(Undelivered::Refused("no".to_owned())));
    let forget = async { drop(listener.next().await) };
    let (sent, ()) = join(bus.send(at(1, &root), Command::Cancel), forget).await;
    assert_eq!(sent, Err(Undelivered::Nobody(root)));
}

pub(super) async fn who_listens_no_more_is_not_reached(bus: &dyn Bus) {
    let root = AgentPath::root();
    let first = bus.listen(at(1, &root));
    let mut second = bus.listen(at(1, &root));
    obeyed(bus, at(1, &root), &mut second).await;
    drop(first);
    obeyed(bus, at(1, &root), &mut second).await;
    drop(second);
    reaches_nobody(bus, at(1, &root)).await;
}

pub(super) async fn a_watcher_sees_its_session_from_now_on(bus: &dyn Bus) {
    let mut early = bus.watch(session(1), Detail::Fragments).sights;
    bus.publish(session(1), kept(1));
    let late = bus.watch(session(1), Detail::Fragments);
    assert_eq!(late.after, 1);
    let mut late = late.sights;
    bus.publish(session(2), kept(7));
    bus.publish(session(1), kept(2));
    assert_eq!(early.next().await, Some(Sight::Event(kept(1).into())));
    assert_eq!(early.next().await, Some(Sight::Event(kept(2).into())));
    assert_eq!(late.next().await, Some(Sight::Event(kept(2).into())));
    assert_eq!(early.next().now_or_never(), None);
    assert_eq!(late.next().now_or_never(), None);
}

pub(super) fn fragments_are_wanted_until_the_last_watcher_goes(bus: &dyn Bus) {
    assert!(!bus.wants_fragments(session(1)));
    let (first, second) = (
        bus.watch(session(1), Detail::Fragments).sights,
        bus.watch(session(1), Detail::Fragments).sights,
    );
    assert!(bus.wants_fragments(session(1)));
    assert!(!bus.wants_fragments(session(2)));
    drop(first);
    assert!(bus.wants_fragments(session(1)));
    drop(second);
    assert!(!bus.wants_fragments(session(1)));
}

pub(super) async fn who_wants_no_fragments_sees_none(bus: &dyn Bus) {
    let mut sights = bus.watch(session(1), Detail::Kept).sights;
    assert!(!bus.wants_fragments(session(1)));
    bus.publish(session(1), kept(1));
    bus.publish(session(1), fragment("a"));
    bus.publish(session(1), kept(2));
    for seq in [1, 2] {
        assert_eq!(sights.next().await, Some(Sight::Event(kept(seq).into())));
    }
    assert_eq!(sights.next().now_or_never(), None);
}

pub(super) async fn a_fragment_has_the_position_before_it(bus: &dyn Bus) {
    // The last position is known to those who come later, too.
    bus.publish(session(1), kept(5));
    bus.publish(session(2), kept(9));
    let mut sights = bus.watch(session(1), Detail::Fragments).sights;
    bus.publish(session(1), fragment("a"));
    bus.publish(session(1), kept(6));
    bus.publish(session(1), fragment("b"));
    for expected in [Event { seq: 5, ..fragment("a") }, kept(6), Event { seq: 6, ..fragment("b") }]
    {
        assert_eq!(sights.next().await, Some(Sight::Event(expected.into())));
    }
}

pub(super) async fn a_stuck_watcher_learns_how_much_it_missed(bus: &dyn Bus) {
    // More than any ring should hold.
    const EVENTS: u64 = 20_000;
    let mut stuck = bus.watch(session(1), Detail::Fragments).sights;
    (1..=EVENTS).for_each(|seq| bus.publish(session(1), kept(seq)));
    let Some(Sight::Missed(missed)) = stuck.next().await else {
        panic!("all {EVENTS} events were held for a watcher that did not look");
    };
    for seq in missed + 1..=EVENTS {
        assert_eq!(stuck.next().await, Some(Sight::Event(kept(seq).into())));
    }
    assert_eq!(stuck.next().now_or_never(), None);
}
