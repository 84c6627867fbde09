//! The port to acts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    AgentPath, Answer, Ask, CallId, Change, Comms, Delegation, Effect, Fact, Grant, Image, Notes,
    Order, Refusal,
};

/// What a model is told of a tool, and what the grant judges it by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls.
    pub name: String,
    /// When and how to call it.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// The most it touches.
    pub effect: Effect,
}

/// Something a call would touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// In what way.
    pub effect: Effect,
    /// What.
    pub target: Target,
}

/// What a call would touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file or directory, absolute and with every link resolved.
    Path(PathBuf),
    /// A command or an address.
    Words(String),
    /// Words of which nobody can tell what they come to before they run, such as a command
    /// that is made of variables. What a rule says of some words may be about these too.
    Unclear(String),
    /// Nothing that could be named.
    Nothing,
}

/// A call that did not work. Always told to the model, never fatal to the agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.to_string())
    }
}

/// Something a model can do.
///
/// An implementation holds what it needs from the day it is built and takes the
/// rest from its [`Host`]. When the host's token is cancelled it ends soon, or it is
/// dropped where it stands; what it started outside the process it gives into the
/// agent's custody ([`Host::hold`]) at once.
pub trait Tool: Send + Sync {
    /// Returns what the model is told.
    fn spec(&self) -> Arc<ToolSpec>;

    /// Refuses arguments with which no call can succeed, before anybody is asked about it.
    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let _ = arguments;
        Ok(())
    }

    /// Returns what one agent is told, if it is to have the tool at all. Whether it may is for
    /// its grant to say.
    fn offer(&self, order: &Order, grant: &Grant) -> Option<std::sync::Arc<ToolSpec>> {
        let _ = (order, grant);
        Some(self.spec())
    }

    /// Returns what a call would touch, relative paths being meant from `workdir`.
    /// Empty means the effect of the spec and nothing that could be named.
    fn touches(&self, arguments: &Value, workdir: &Path) -> Vec<Touch> {
        let _ = (arguments, workdir);
        Vec::new()
    }

    /// Tells what a person should know before they allow a call, if anything.
    fn caution(&self, arguments: &Value) -> Option<String> {
        let _ = arguments;
        None
    }

    /// Tells in a line what a call is about.
    fn summary(&self, arguments: &Value) -> String;

    /// Does it. The arguments are an object; whether it fits is the tool's to check.
    fn call<'a>(
        &'a self,
        arguments: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>>;
}

/// What a running call sees of the runtime.
pub trait Host: Send + Sync {
    /// Returns the agent that calls.
    fn agent(&self) -> &AgentPath;

    /// Returns the call being run.
    fn call(&self) -> &CallId;

    /// Returns what the agent was ordered to do.
    fn order(&self) -> &Order;

    /// Returns the directory relative paths are meant from.
    fn workdir(&self) -> &Path;

    /// Returns what the agent may do.
    fn grant(&self) -> &Grant;

    /// Returns what the call was judged by. Nothing else may be touched: where a path led
    /// when it was judged is where it has to lead when it is opened.
    fn judged(&self) -> &[Touch];

    /// Returns the token that is cancelled when the call is to end.
    fn token(&self) -> &CancellationToken;

    /// Tells how far the call is.
    fn progress(&self, text: String);

    /// Notes what the call did, for the receipt.
    fn note(&self, fact: Fact);

    /// Shows the model a picture with the result.
    fn attach(&self, image: Image);

    /// Keeps what a file held and records that it changes. Comes before the change is made,
    /// which is not made if this fails; only what a command did can be told afterwards.
    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Returns what records changes in this call's name, as [`changing`](Self::changing) does,
    /// also when the call has returned: until the agent has finished.
    fn recorder(&self) -> Arc<dyn Recorder>;

    /// Gives something into the agent's custody: the agent does not finish before
    /// it has ended.
    fn hold(&self, held: Box<dyn Held>);

    /// Asks a person. Without one the answer is `Unattended`, at once.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer>;

    /// Returns the way to agents below, or `None` at the bottom of the tree.
    fn delegation(&self) -> Option<&dyn Delegation>;

    /// Returns the way to the agents it may write to, if there are to be any.
    fn comms(&self) -> Option<&dyn Comms>;

    /// Returns what all agents of the tree share.
    fn notes(&self) -> &dyn Notes;
}

/// Records what becomes of files, in the name of one call.
pub trait Recorder: Send + Sync {
    /// Keeps what a file held and records that it changed.
    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// Something that runs outside the agent's own task, such as a process.
pub trait Held: Send {
    /// Names it, for people.
    fn what(&self) -> String;

    /// Reports whether it has ended by itself.
    fn is_over(&mut self) -> bool;

    /// Ends it and returns when it is gone, or tells why it cannot be ended.
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), String>>;
}
