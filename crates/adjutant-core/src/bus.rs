//! The port to other tasks, processes and machines.

use std::sync::Arc;

use futures_util::{future::BoxFuture, stream::BoxStream};

use tokio::sync::oneshot;

use crate::{AgentPath, Command, Event, Seq, SessionId};

/// Where an agent is to be found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// In which session.
    pub session: SessionId,
    /// At which place of its tree.
    pub path: AgentPath,
}

/// A command was not obeyed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undelivered {
    /// Nobody listens there.
    #[error("no agent listens at `{0}`")]
    Nobody(AgentPath),
    /// Whoever listens there would not have it.
    #[error("{0}")]
    Refused(String),
}

/// A command on its way to an agent. Whoever hears it says what became of it; one that
/// is dropped has reached nobody.
#[derive(Debug)]
pub struct Errand {
    /// Whom it is for.
    pub to: AgentPath,
    /// What is asked.
    pub command: Command,
    answer: oneshot::Sender<Result<(), String>>,
}

impl Errand {
    /// Makes an errand, and where its answer will be.
    pub fn new(to: AgentPath, command: Command) -> (Self, oneshot::Receiver<Result<(), String>>) {
        let (answer, receiver) = oneshot::channel();
        (Self { to, command, answer }, receiver)
    }

    /// Says what became of the command.
    pub fn answer(self, answer: Result<(), String>) {
        // Whoever sent it may have gone.
        let _ = self.answer.send(answer);
    }
}

/// What a watcher sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
    /// An event.
    Event(Arc<Event>),
    /// The watcher was too slow and this many events went by. The kept ones among
    /// them are in the journal.
    Missed(u64),
}

/// How much a watcher wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// What is kept.
    Kept,
    /// Everything, each fragment of what is being said too.
    Fragments,
}

/// What is seen of a session from some time on.
pub struct Watch {
    /// The last kept event that was shown before.
    pub after: Seq,
    /// What is shown since.
    pub sights: BoxStream<'static, Sight>,
}

/// Moves commands down a tree and events up it. Remembers no more than a small ring
/// of the latest events, and is never slowed by a watcher.
pub trait Bus: Send + Sync {
    /// Delivers a command to whoever listens at the address or nearest above it, and
    /// waits for what becomes of it.
    fn send(&self, to: Address, command: Command) -> BoxFuture<'static, Result<(), Undelivered>>;

    /// Receives the commands for the agent at the address and for everyone below it,
    /// until the stream is dropped. Of several who listen at one address the latest does.
    fn listen(&self, at: Address) -> BoxStream<'static, Errand>;

    /// Shows an event to the watchers. A fragment gets the position of the last
    /// kept event shown before it.
    fn publish(&self, session: SessionId, event: Event);

    /// Watches a session from now on.
    fn watch(&self, session: SessionId, detail: Detail) -> Watch;

    /// Reports whether anyone wants fragments. They are not made for nobody.
    fn wants_fragments(&self, session: SessionId) -> bool;
}
