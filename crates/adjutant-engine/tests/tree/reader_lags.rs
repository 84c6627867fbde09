//! A reader that stops misses no kept event, sees none twice, and holds up nobody.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use adjutant_core::{AgentPath, Event, EventKind};
use adjutant_engine::{Seen, Session};
use adjutant_models::script::{Reply, Script};
use futures_util::StreamExt as _;

use crate::support::{Plan, call, sub};

/// A session whose ring is small, and a busy tree in it: many fragments, many events.
/// A first reader never reads.
async fn busy() -> (Session, impl Sized) {
    let chatty = || Reply::text("word ".repeat(50)).word_by_word(Duration::from_millis(10));
    let read = |n: usize| {
        let arguments = serde_json::json!({ "path": "Cargo.toml", "offset": n });
        Reply::calls([call("r", "read_file", arguments)]).saying("hm ".repeat(20))
    };
    let script = Script::new()
        .on("root", [Reply::calls((0..5).map(|n| sub(&format!("c{n}"), "chat"))), chatty()])
        .on("root.*", (1..10).map(read))
        .on("root.*", [chatty()]);
    let tree = Plan::new(script).ring(16).begin("go").await;
    (tree.session.clone(), tree)
}

/// Reads what the journal has once all is over.
async fn all(session: &Session) -> Vec<Arc<Event>> {
    kept(&session.events(0).map(Result::unwrap).collect::<Vec<_>>().await)
}

fn kept(seen: &[Seen]) -> Vec<Arc<Event>> {
    let events = seen.iter().filter_map(|seen| match seen {
        Seen::Event(event) if event.kind.is_kept() => Some(Arc::clone(event)),
        _ => None,
    });
    events.collect()
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_for_a_minute_catches_up_with_every_kept_event() {
    let (session, _idle) = busy().await;
    let mut events = session.events(0);
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(events.next().await.unwrap().unwrap());
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    while let Some(next) = events.next().await {
        seen.push(next.unwrap());
    }
    assert_eq!(kept(&seen), all(&session).await);
    let lagged = seen.iter().any(|seen| matches!(seen, Seen::Lagged { dropped } if *dropped > 0));
    assert!(lagged, "the fragments it missed are told");
}

#[tokio::test(start_paused = true)]
async fn fragments_and_lags_add_up_for_a_reader_that_stutters() {
    let (session, _idle) = busy().await;
    let (mut steady, mut stutters) = (session.events(0), session.events(0));
    let steady = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(next) = steady.next().await {
            seen.push(next.unwrap());
        }
        seen
    });
    let mut seen = Vec::new();
    while let Some(next) = stutters.next().await {
        seen.push(next.unwrap());
        if seen.len() % 7 == 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    let steady = steady.await.unwrap();
    assert_eq!(kept(&seen), all(&session).await);
    let fragments = |seen: &[Seen]| -> u64 {
        seen.iter()
            .map(|seen| match seen {
                Seen::Event(event) => u64::from(!event.kind.is_kept()),
                Seen::Lagged { dropped } => *dropped,
            })
            .sum()
    };
    let lags = seen.iter().filter(|seen| matches!(seen, Seen::Lagged { .. })).count();
    assert!(lags > 1, "it did lag");
    assert_eq!(fragments(&seen), fragments(&steady));
}

#[tokio::test(start_paused = true)]
async fn a_late_reader_sees_everything_from_where_it_asks() {
    let (session, _idle) = busy().await;
    let mut first = session.events(0);
    while first.next().await.is_some() {}
    let late: Vec<_> = session.events(5).map(Result::unwrap).collect().await;
    assert_eq!(kept(&late), all(&session).await[5..]);
    let last = kept(&late).pop().unwrap();
    assert!(matches!(last.kind, EventKind::Finished { .. }) && last.path == AgentPath::root());
}

#[tokio::test(start_paused = true)]
async fn memory_stays_bounded_while_a_reader_is_stuck() {
    let (session, _stuck) = busy().await;
    let mut steady = session.events(0);
    let (mut alive, mut fragments) = (Vec::<Weak<Event>>::new(), 0);
    while let Some(next) = steady.next().await {
        if let Seen::Event(event) = next.unwrap()
            && !event.kind.is_kept()
        {
            alive.push(Arc::downgrade(&event));
            fragments += 1;
        }
        alive.retain(|event| event.strong_count() > 0);
        assert!(alive.len() <= 16, "the ring has room for 16");
    }
    assert!(fragments > 100, "{fragments}");
}
