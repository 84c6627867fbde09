//! A small memory that all agents of a tree share.

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::{AgentPath, ToolError};

/// Something an agent wrote down for the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it is about.
    pub key: String,
    /// What was written.
    pub value: String,
    /// Who wrote it.
    pub by: AgentPath,
}

/// The notes of a tree, for one agent.
pub trait Notes: Send + Sync {
    /// Returns the notes, in the order of their keys.
    fn all(&self) -> Vec<Note>;

    /// Writes a note in the place of any other with its key, or takes it away. Returns the one
    /// that was there.
    fn write(
        &self,
        key: String,
        value: Option<String>,
    ) -> BoxFuture<'_, Result<Option<Note>, ToolError>>;
}
