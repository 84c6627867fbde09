//! The port from tools to agents that are not below.

use futures_util::future::BoxFuture;

use crate::{AgentPath, Refusal, State, When};

/// An agent another may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it stands.
    pub path: AgentPath,
    /// How it stands.
    pub state: State,
}

/// The letters of one agent.
pub trait Comms: Send + Sync {
    /// Returns those it may write to.
    fn peers(&self) -> Vec<Peer>;

    /// Writes to one of them, named by its path, or as `parent`.
    fn write<'a>(
        &'a self,
        to: &'a str,
        text: String,
        when: When,
    ) -> BoxFuture<'a, Result<(), Refusal>>;
}
