//! The port to what a person wants done on certain occasions.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{AgentPath, CallId, Held, Outcome, SessionId, Touch};

/// An occasion, and whose it is.
pub struct Scene<'a> {
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: &'a AgentPath,
    /// Where it works.
    pub workdir: &'a Path,
    /// The directories it may work in, from which relative patterns are meant.
    pub scope: &'a [PathBuf],
    /// Cancelled when what is done has to end.
    pub token: &'a CancellationToken,
    /// Takes what was started into the agent's custody.
    pub hold: &'a (dyn Fn(Box<dyn Held>) + Send + Sync),
    /// What it is about.
    pub occasion: Occasion<'a>,
}

/// An occasion on which something can be done.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The agent is about to take its first turn.
    Started {
        /// Its task.
        task: &'a str,
    },
    /// A call is about to run. It is allowed, by whoever had to be asked.
    Calling(HookedCall<'a>),
    /// A call has ended.
    Called {
        /// Which.
        call: HookedCall<'a>,
        /// What the model is told.
        result: &'a str,
        /// Whether it failed.
        failed: bool,
    },
    /// The agent has ended, and so has what it started.
    Ended {
        /// What came of it.
        outcome: &'a Outcome,
    },
}

/// A call, as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct HookedCall<'a> {
    /// Its name.
    pub id: &'a CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments, as the tool gets them.
    pub arguments: &'a Value,
    /// What it touches, as the root would name it.
    pub touches: &'a [Touch],
}

/// Does what a person wants done.
pub trait Hooks: Send + Sync {
    /// Does it, and returns when that is over. An error before a call refuses it, and is told to
    /// the model; any other is noted.
    fn run<'a>(&'a self, scene: Scene<'a>) -> BoxFuture<'a, Result<(), String>>;
}
