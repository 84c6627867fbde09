//! The port to places where an agent works alone.

use std::path::Path;

use futures_util::future::BoxFuture;

use crate::{AgentPath, Handover, Host, Refusal, StandIn};

/// Opens places where agents work alone.
pub trait Workshop: Send + Sync {
    /// Opens a place for an agent that stands for the directory its parent works in, as that is
    /// now.
    fn open<'a>(
        &'a self,
        agent: &'a AgentPath,
        workdir: &'a Path,
    ) -> BoxFuture<'a, Result<Box<dyn Bench>, Refusal>>;
}

/// A place where one agent works alone.
pub trait Bench: Send + Sync {
    /// Returns the place, and what it stands for.
    fn stand_in(&self) -> &StandIn;

    /// Closes the place when the agent has ended and nothing of it runs any more. Its changes
    /// are made in the original, all or none, if `keep` gives no reason against it. Tells what
    /// became of them, if there are any; then, unless they were made, the place stays.
    fn close<'a>(
        self: Box<Self>,
        keep: Option<String>,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Option<Handover>>;

    /// Takes the place away. Nobody has worked there.
    fn discard(self: Box<Self>) -> BoxFuture<'static, ()>;
}
