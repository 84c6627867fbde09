//! What a cassette has to know of agents besides what they ask.

use std::sync::Arc;

use adjutant_core::{AgentPath, Event, EventKind, Follow, Message, SessionId};
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};

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
pub trait FollowSteps: Send + Sync {
    /// Hears of a step that is about to be kept. The future is for when it was kept: the
    /// agent goes on when that is over, and nobody knows of the step before.
    fn follow(&self, step: Step, agent: AgentPath) -> BoxFuture<'static, ()>;
}

/// Tells of the steps in what a journal keeps.
pub struct Steps(pub Arc<dyn FollowSteps>);

impl Follow for Steps {
    fn follow(&self, _: SessionId, batch: &[Event]) -> Option<BoxFuture<'static, ()>> {
        let follow = |event: &Event| Some(self.0.follow(step(event)?, event.path.clone()));
        let followed: Vec<_> = batch.iter().filter_map(follow).collect();
        (!followed.is_empty()).then(|| join_all(followed).map(|_| ()).boxed())
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
