//! What a front end holds: a way to send and a way to watch.

use std::{path::PathBuf, sync::Arc};

use adjutant_core::{
    AgentPath, Allowance, Bus, Command, Grant, Journal, Models, Refusal, Seq, SessionId, Tool,
};

use crate::{Events, Settings};

/// What a session is made of, chosen by the composition root.
pub struct Parts {
    /// Where models are found.
    pub models: Arc<dyn Models>,
    /// What can be done.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What remembers.
    pub journal: Arc<dyn Journal>,
    /// What moves. The journal publishes on the same one.
    pub bus: Arc<dyn Bus>,
    /// Limits and habits.
    pub settings: Settings,
}

/// Who the root is.
pub struct Root {
    /// The model it runs on.
    pub model: String,
    /// Its system prompt.
    pub system: Arc<str>,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub allowance: Allowance,
    /// Where relative paths start.
    pub workdir: PathBuf,
    /// When it leaves.
    pub stay: Stay,
}

/// When an agent leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// When its task is done.
    UntilDone,
    /// When it is told to; between tasks it rests.
    UntilTold,
}

/// A command did not reach its agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(pub String);

/// A tree of agents, seen from above. Clones see the same tree.
#[derive(Clone)]
pub struct Session(Arc<()>);

/// Somebody is there to answer, for as long as this lives.
pub struct Attendance(Arc<()>);

impl Session {
    /// Opens a session. Nothing runs yet, so nothing is missed by watching.
    pub fn open(_id: SessionId, _parts: Parts) -> Self {
        todo!()
    }

    /// Returns the session's name.
    pub fn id(&self) -> SessionId {
        todo!()
    }

    /// Puts the root to work.
    pub async fn begin(&self, _root: Root, _task: String) -> Result<(), Refusal> {
        todo!()
    }

    /// Sends a command to any agent of the tree.
    pub async fn send(&self, _to: &AgentPath, _command: Command) -> Result<(), NotSent> {
        todo!()
    }

    /// Watches the whole tree: first what came after a position, then what comes.
    pub fn events(&self, _after: Seq) -> Events {
        todo!()
    }

    /// Says that somebody is there to answer, for as long as the result lives.
    pub fn attend(&self) -> Attendance {
        todo!()
    }
}
