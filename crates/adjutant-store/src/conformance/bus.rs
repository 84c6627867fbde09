//! The checks of buses.

use adjutant_core::{
    Address, AgentPath, Bus, Command, Event, EventKind, Fragment, Sight, Unreachable,
};
use futures_util::{FutureExt, StreamExt};

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

pub(super) async fn a_listener_hears_its_subtree(bus: &dyn Bus) {
    let root = AgentPath::root();
    let (scout, namesake) = (root.child("scout", 1), root.child("scout", 11));
    let reader = scout.child("reader", 1);
    let mut scout_hears = bus.listen(at(1, &scout));
    for (path, expected) in [
        (&scout, Ok(())),
        (&reader, Ok(())),
        (&root, Err(Unreachable(root.clone()))),
        (&namesake, Err(Unreachable(namesake.clone()))),
    ] {
        assert_eq!(bus.send(at(1, path), say(path.as_str())).await, expected);
    }
    assert_eq!(bus.send(at(2, &scout), say("elsewhere")).await, Err(Unreachable(scout.clone())));

    let mut root_hears = bus.listen(at(1, &root));
    assert_eq!(bus.send(at(1, &reader), Command::Cancel).await, Ok(()));
    for expected in [
        (scout.clone(), say(scout.as_str())),
        (reader.clone(), say(reader.as_str())),
        (reader.clone(), Command::Cancel),
    ] {
        assert_eq!(scout_hears.next().await, Some(expected));
    }
    assert_eq!(root_hears.next().await, Some((reader, Command::Cancel)));
    assert_eq!(scout_hears.next().now_or_never(), None);
    assert_eq!(root_hears.next().now_or_never(), None);
}

pub(super) async fn who_listens_no_more_is_not_reached(bus: &dyn Bus) {
    let root = AgentPath::root();
    let first = bus.listen(at(1, &root));
    let mut second = bus.listen(at(1, &root));
    drop(first);
    assert_eq!(bus.send(at(1, &root), say("one left")).await, Ok(()));
    assert_eq!(second.next().await, Some((root.clone(), say("one left"))));
    drop(second);
    assert_eq!(bus.send(at(1, &root), say("none left")).await, Err(Unreachable(root)));
}

pub(super) async fn a_watcher_sees_its_session_from_now_on(bus: &dyn Bus) {
    let mut early = bus.watch(session(1)).sights;
    bus.publish(session(1), kept(1));
    let late = bus.watch(session(1));
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

pub(super) fn nobody_watches_once_the_last_went(bus: &dyn Bus) {
    assert!(!bus.is_watched(session(1)));
    let (first, second) = (bus.watch(session(1)).sights, bus.watch(session(1)).sights);
    assert!(bus.is_watched(session(1)));
    assert!(!bus.is_watched(session(2)));
    drop(first);
    assert!(bus.is_watched(session(1)));
    drop(second);
    assert!(!bus.is_watched(session(1)));
}

pub(super) async fn a_fragment_has_the_position_before_it(bus: &dyn Bus) {
    // The last position is known to those who come later, too.
    bus.publish(session(1), kept(5));
    bus.publish(session(2), kept(9));
    let mut sights = bus.watch(session(1)).sights;
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
    let mut stuck = bus.watch(session(1)).sights;
    (1..=EVENTS).for_each(|seq| bus.publish(session(1), kept(seq)));
    let Some(Sight::Missed(missed)) = stuck.next().await else {
        panic!("all {EVENTS} events were held for a watcher that did not look");
    };
    for seq in missed + 1..=EVENTS {
        assert_eq!(stuck.next().await, Some(Sight::Event(kept(seq).into())));
    }
    assert_eq!(stuck.next().now_or_never(), None);
}
