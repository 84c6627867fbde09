//! A journal for as long as the process lives.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{Bus, Event, Journal, JournalError, Seq, SessionEntry, SessionId};
use futures_util::future::{self, BoxFuture, FutureExt};

use crate::batch;

type Sessions = HashMap<SessionId, Vec<Arc<Event>>>;

/// A journal that is gone when it is dropped: for tests, and for what nobody wants to
/// keep.
pub struct MemoryJournal {
    bus: Arc<dyn Bus>,
    sessions: Mutex<Sessions>,
}

impl MemoryJournal {
    /// Makes an empty journal that publishes on a bus.
    pub fn new(bus: Arc<dyn Bus>) -> Self {
        Self { bus, sessions: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Sessions) -> T) -> T {
        act(&mut self.sessions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Publishes under the lock, so that positions are seen in their order.
    fn keep(&self, session: SessionId, batch: Vec<Event>) -> Seq {
        self.with(|sessions| {
            let events = sessions.entry(session).or_default();
            let first = events.len();
            for mut event in batch {
                event.seq = events.len() as Seq + 1;
                events.push(Arc::new(event));
            }
            for event in &events[first..] {
                self.bus.publish(session, Event::clone(event));
            }
            events.len() as Seq
        })
    }
}

impl Journal for MemoryJournal {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        let kept = batch::check(&batch).map(|()| self.keep(session, batch));
        future::ready(kept).boxed()
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let page = self.with(|sessions| {
            let events = sessions.get(&session).into_iter().flatten();
            events.skip(after).take(limit).cloned().collect()
        });
        future::ready(Ok(page)).boxed()
    }

    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>> {
        let entry = |(id, events): (&SessionId, &Vec<Arc<Event>>)| SessionEntry {
            id: *id,
            at: events.first().map_or(0, |event| event.at),
            events: events.len() as Seq,
        };
        let mut entries: Vec<_> = self.with(|sessions| sessions.iter().map(entry).collect());
        entries.sort_by_key(|entry| Reverse((entry.at, entry.id)));
        future::ready(Ok(entries)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[tokio::test]
    async fn conforms() {
        conformance::journal(|bus| Arc::new(MemoryJournal::new(bus))).await;
    }
}
