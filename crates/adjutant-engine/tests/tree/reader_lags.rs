//! A reader that stops misses no kept event, sees none twice, and holds up nobody.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use adjutant_core::{
    Access, AgentPath, Allowance, Bus, Charter, Event, EventKind, Grant, Journal, Mode, Rules,
    SessionId,
};
use adjutant_engine::{Parts, Root, Seen, Session, Settings, Stay};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    script::{Reply, Script},
};
use adjutant_store::{LocalBus, MemoryJournal};
use adjutant_tools::DelegationSettings;
use futures_util::StreamExt as _;

use crate::support::{call, sub};

const RING: usize = 16;

/// A session whose ring is small, and a busy tree in it: many fragments, many events.
#[expect(clippy::disallowed_methods, reason = "tests mint authority")]
async fn busy() -> (Session, Arc<dyn Journal>) {
    let chatty = || Reply::text("word ".repeat(50)).word_by_word(Duration::from_millis(10));
    let read = |n: usize| {
        let arguments = serde_json::json!({ "path": "Cargo.toml", "offset": n });
        Reply::calls([call("r", "read_file", arguments)]).saying("hm ".repeat(20))
    };
    let script = Script::new()
        .on("root", [Reply::calls((0..5).map(|n| sub(&format!("c{n}"), "chat"))), chatty()])
        .on("root.*", (1..10).map(read))
        .on("root.*", [chatty()]);
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::new(NonZeroUsize::new(RING).unwrap()));
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(Arc::clone(&bus)));
    let model = Arc::new(Scripted::new(script));
    let parts = Parts {
        models: Arc::new(Catalogue::new(Pace::Prompt).with("test", model)),
        tools: adjutant_tools::all(&DelegationSettings::default()),
        journal: Arc::clone(&journal),
        bus,
        settings: Settings::default(),
    };
    let session = Session::open(SessionId::from(uuid::Uuid::now_v7()), parts);
    let workdir = std::env::current_dir().unwrap();
    let (rules, scope) = (Rules::default(), vec![workdir.clone()]);
    let charter = Charter { mode: Mode::Auto, rules, access: Access::Inherit, scope, depth: 3 };
    let (grant, allowance) = (Grant::mint(charter), Allowance::default());
    let (model, system, stay) = ("test".to_owned(), "".into(), Stay::UntilDone);
    // A first reader that never reads.
    std::mem::forget(session.events(0));
    let root = Root { model, system, grant, allowance, workdir, stay };
    session.begin(root, "go".to_owned()).await.unwrap();
    (session, journal)
}

fn kept(seen: &[Seen]) -> Vec<Arc<Event>> {
    let events = seen.iter().filter_map(|seen| match seen {
        Seen::Event(event) if event.kind.is_kept() => Some(Arc::clone(event)),
        _ => None,
    });
    events.collect()
}

async fn all(journal: &Arc<dyn Journal>, session: SessionId) -> Vec<Arc<Event>> {
    journal.read(session, 0, usize::MAX).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_for_a_minute_catches_up_with_every_kept_event() {
    let (session, journal) = busy().await;
    let mut events = session.events(0);
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(events.next().await.unwrap().unwrap());
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    while let Some(next) = events.next().await {
        seen.push(next.unwrap());
    }
    assert_eq!(kept(&seen), all(&journal, session.id()).await);
    let lagged = seen.iter().any(|seen| matches!(seen, Seen::Lagged { dropped } if *dropped > 0));
    assert!(lagged, "the fragments it missed are told");
}

#[tokio::test(start_paused = true)]
async fn fragments_and_lags_add_up_for_a_reader_that_stutters() {
    let (session, journal) = busy().await;
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
    assert_eq!(kept(&seen), all(&journal, session.id()).await);
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
    let (session, journal) = busy().await;
    let mut first = session.events(0);
    while first.next().await.is_some() {}
    let late: Vec<_> = session.events(5).map(Result::unwrap).collect().await;
    assert_eq!(kept(&late), all(&journal, session.id()).await[5..]);
    let last = kept(&late).pop().unwrap();
    assert!(matches!(last.kind, EventKind::Finished { .. }) && last.path == AgentPath::root());
}
