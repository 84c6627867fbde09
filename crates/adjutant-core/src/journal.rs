//! The port to memory.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{Event, Millis, Seq, SessionId};

/// The journal could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal failed: {0}")]
pub struct JournalError(pub String);

/// A session, as the journal lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    /// Which session.
    pub id: SessionId,
    /// When its first event happened.
    pub at: Millis,
    /// How many events it has.
    pub events: Seq,
}

/// Remembers what happened, in order, for ever.
///
/// One writer takes the batches of all agents and does four things with each, in
/// this order: it numbers the events, commits them, publishes them on the bus it
/// was given, and acknowledges. So what anyone has seen is there after a crash. The
/// `seq` of an event that is appended means nothing. Nothing is changed or taken out
/// later: any state is a fold over [`Journal::read`].
pub trait Journal: Send + Sync {
    /// Appends a batch, all of it or none, and returns the position of its last
    /// event. A batch that was given is written even if the future is dropped.
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>>;

    /// Reads up to `limit` events that come after a position. Fewer, or none, means
    /// that there are no more at this time.
    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>>;

    /// Lists the sessions, the newest first.
    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>>;
}

/// Hears of what is about to be kept.
pub trait Follow: Send + Sync {
    /// Hears of a batch that is about to be kept. The future, if any, is for when it was kept:
    /// whoever wrote it goes on when that is over.
    fn follow(&self, session: SessionId, batch: &[Event]) -> Option<BoxFuture<'static, ()>>;
}

/// A journal that is followed.
pub struct Followed {
    journal: Arc<dyn Journal>,
    follower: Arc<dyn Follow>,
}

impl Followed {
    /// Has a journal followed.
    pub fn new(journal: Arc<dyn Journal>, follower: Arc<dyn Follow>) -> Self {
        Self { journal, follower }
    }
}

impl Journal for Followed {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        let followed = self.follower.follow(session, &batch);
        let kept = self.journal.append(session, batch);
        let Some(followed) = followed else { return kept };
        Box::pin(async move {
            let kept = kept.await;
            followed.await;
            kept
        })
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>> {
        self.journal.read(session, after, limit)
    }

    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>> {
        self.journal.sessions()
    }
}
