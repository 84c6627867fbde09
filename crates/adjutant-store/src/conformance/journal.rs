//! The checks of journals.

use std::{sync::Arc, thread};

use adjutant_core::{
    Bus, Detail, Event, EventKind, Fragment, Journal, SessionEntry, SessionId, Sight,
};
use futures_util::{FutureExt, StreamExt, future};

use super::sample::{self, name_of, named, session};

async fn all(journal: &dyn Journal, session: SessionId) -> Vec<Arc<Event>> {
    journal.read(session, 0, usize::MAX).await.unwrap()
}

pub(super) async fn concurrent_batches_stay_whole(journal: &dyn Journal) {
    const THREADS: usize = 4;
    const BATCHES: usize = 25;
    let name = |thread, batch, place| format!("{thread}/{batch}/{place}");
    let batch = |thread, batch| (0..3).map(|place| named(&name(thread, batch, place))).collect();
    let append_all = |thread| {
        (0..BATCHES).map(|number| journal.append(session(1), batch(thread, number))).collect()
    };
    let appends: Vec<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || append_all(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    let mut names = vec![String::new(); THREADS * BATCHES * 3];
    for (thread, appends) in appends.into_iter().enumerate() {
        let mut before = 0;
        for (number, last) in future::join_all(appends).await.into_iter().enumerate() {
            let last = last.unwrap();
            assert!(before < last, "the batches of one thread are not in their order");
            before = last;
            for (place, slot) in names[last as usize - 3..last as usize].iter_mut().enumerate() {
                *slot = name(thread, number, place);
            }
        }
    }
    let events = all(journal, session(1)).await;
    assert!(events.iter().map(|event| event.seq).eq(1..=names.len() as u64));
    assert!(events.iter().map(|event| name_of(event)).eq(names.iter()));
}

pub(super) async fn what_is_acknowledged_was_shown(journal: &dyn Journal, bus: &dyn Bus) {
    let mut sights = bus.watch(session(1), Detail::Fragments).sights;
    for round in 1..=3 {
        let batch = vec![named("first"), named("second")];
        assert_eq!(journal.append(session(1), batch).await, Ok(round * 2));
        for seq in [round * 2 - 1, round * 2] {
            let read = journal.read(session(1), seq - 1, 1).await.unwrap().remove(0);
            assert_eq!(read.seq, seq);
            assert_eq!(sights.next().now_or_never(), Some(Some(Sight::Event(read))));
        }
    }
}

pub(super) async fn a_reader_turns_pages(journal: &dyn Journal) {
    let batch = (0..5).map(|number| named(&number.to_string())).collect();
    assert_eq!(journal.append(session(1), batch).await, Ok(5));
    let pages: [(u64, usize, &[u64]); 8] = [
        (0, 2, &[1, 2]),
        (2, 2, &[3, 4]),
        (4, 2, &[5]),
        (5, 2, &[]),
        (0, 0, &[]),
        (0, usize::MAX, &[1, 2, 3, 4, 5]),
        (99, 2, &[]),
        (u64::MAX, 2, &[]),
    ];
    for (after, limit, expected) in pages {
        let page = journal.read(session(1), after, limit).await.unwrap();
        let positions: Vec<_> = page.iter().map(|event| event.seq).collect();
        assert_eq!(positions, expected, "{limit} after {after}");
    }
}

pub(super) async fn sessions_are_apart(journal: &dyn Journal) {
    assert_eq!(journal.append(session(1), vec![named("one")]).await, Ok(1));
    assert_eq!(journal.append(session(2), vec![named("two")]).await, Ok(1));
    assert_eq!(journal.append(session(1), vec![named("three")]).await, Ok(2));
    for (number, expected) in [(1, vec!["one", "three"]), (2, vec!["two"]), (3, vec![])] {
        let events = all(journal, session(number)).await;
        let names: Vec<_> = events.iter().map(|event| name_of(event)).collect();
        assert_eq!(names, expected);
    }
}

pub(super) async fn sessions_are_listed_newest_first(journal: &dyn Journal) {
    assert_eq!(journal.sessions().await, Ok(vec![]));
    let at = |at| Event { at, ..named("") };
    for (number, batch) in [
        (1, vec![at(100), at(900)]),
        (4, vec![at(300)]),
        (2, vec![at(300), at(100), at(100)]),
        (3, vec![at(200)]),
        (1, vec![at(1000)]),
    ] {
        journal.append(session(number), batch).await.unwrap();
    }
    let entry = |number, at, events| SessionEntry { id: session(number), at, events };
    let expected = [entry(4, 300, 1), entry(2, 300, 3), entry(3, 200, 1), entry(1, 100, 3)];
    assert_eq!(journal.sessions().await.unwrap(), expected);
}

pub(super) async fn a_dropped_append_is_written(journal: &dyn Journal) {
    drop(journal.append(session(1), vec![named("dropped")]));
    // Nothing else is appended that could take it along.
    for _ in 0..100_000 {
        if !all(journal, session(1)).await.is_empty() {
            break;
        }
    }
    assert_eq!(name_of(&all(journal, session(1)).await[0]), "dropped");
    assert_eq!(journal.append(session(1), vec![named("awaited")]).await, Ok(2));
}

pub(super) async fn what_cannot_be_kept_is_refused(journal: &dyn Journal) {
    let saying = EventKind::Saying { of: Fragment::Text, text: "Hel".to_owned() };
    let progressed = EventKind::Progressed { call_id: "c1".into(), text: "half".to_owned() };
    let with = |kind| vec![named("kept"), Event { kind, ..named("") }];
    for batch in [vec![], with(saying), with(progressed)] {
        assert!(journal.append(session(1), batch).await.is_err());
    }
    assert_eq!(journal.sessions().await, Ok(vec![]));
}

pub(super) async fn every_kind_comes_back_as_it_went(journal: &dyn Journal, bus: &dyn Bus) {
    let batch: Vec<_> = sample::kept_kinds().map(sample::awkward).collect();
    let mut sights = bus.watch(session(1), Detail::Fragments).sights;
    let last = journal.append(session(1), batch.clone()).await;
    assert_eq!(last, Ok(batch.len() as u64));
    let events = all(journal, session(1)).await;
    assert_eq!(events.len(), batch.len());
    for (position, (event, given)) in events.into_iter().zip(batch).enumerate() {
        assert_eq!(*event, Event { seq: position as u64 + 1, ..given });
        assert_eq!(sights.next().now_or_never(), Some(Some(Sight::Event(event))));
    }
}
