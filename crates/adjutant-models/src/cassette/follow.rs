//! What a cassette has to know of agents besides what they ask.

use std::sync::Arc;

use adjutant_core::{
    AgentPath, Event, EventKind, Journal, JournalError, Message, Seq, SessionEntry, SessionId,
};
use futures_util::future::{BoxFuture, join_all};

use super::conversation::is_notice;

/// A step of an agent, apart from asking its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its calls have their results.
    Acted,
    /// It heard of the ends of children.
    Heard,
    /// It is gone.
    Ended,
}

/// Knows of the steps of agents.
pub trait Follow: Send + Sync {
    /// Hears of a step that is about to be kept. The future is for when it was kept: the
    /// agent goes on when that is over, and nobody knows of the step before.
    fn follow(&self, step: Step, agent: AgentPath) -> BoxFuture<'static, ()>;
}

/// A journal whose agents are followed.
pub struct Followed {
    journal: Arc<dyn Journal>,
    follower: Arc<dyn Follow>,
}

impl Followed {
    /// Has the agents of a journal followed.
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
        let follow = |event: &Event| Some(self.follower.follow(step(event)?, event.path.clone()));
        let followed: Vec<_> = batch.iter().filter_map(follow).collect();
        let kept = self.journal.append(session, batch);
        if followed.is_empty() {
            return kept;
        }
        Box::pin(async move {
            let kept = kept.await;
            join_all(followed).await;
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

fn step(event: &Event) -> Option<Step> {
    match &event.kind {
        EventKind::Finished { .. } => Some(Step::Ended),
        EventKind::Said { message } if is_notice(message) => Some(Step::Heard),
        EventKind::Said { message } => {
            matches!(**message, Message::Tools { .. }).then_some(Step::Acted)
        }
        _ => None,
    }
}
