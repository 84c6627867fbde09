//! What an agent at work holds.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use adjutant_core::{
    AgentId, AgentPath, Bench, CallId, Chosen, Event, EventKind, Grant, JournalError, Millis,
    Model, Order,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    answer::Answer,
    custody::Custody,
    hooks::FailedHooks,
    roster::Entry,
    session::{Shared, places},
    toolset::ToolSet,
};

/// Who an agent is: what each of its events says.
pub(crate) struct Identity {
    pub(crate) path: AgentPath,
    pub(crate) id: AgentId,
    pub(crate) call: Option<CallId>,
}

/// An agent's place in the tree. All of it is derived from the parent's.
pub(crate) struct Seat {
    pub(crate) shared: Arc<Shared>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) model: Arc<dyn Model>,
    /// Who chose it.
    pub(crate) chosen: Chosen,
    /// What its children are told too, if nobody says otherwise.
    pub(crate) instructions: Arc<str>,
    /// What it is told.
    pub(crate) system: Arc<str>,
    pub(crate) answer: Option<Answer>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) grant: Grant,
    /// Cancelled when the agent is to leave its work: told to, or out of time. The
    /// tokens of its calls and children hang below.
    pub(crate) work: CancellationToken,
    pub(crate) custody: Custody,
    pub(crate) workdir: Arc<Path>,
    pub(crate) family: Family,
    /// Where it works alone, if it does.
    pub(crate) bench: Mutex<Option<Box<dyn Bench>>>,
    pub(crate) failed_hooks: FailedHooks,
    /// What it was ordered to do.
    pub(crate) order: Arc<Order>,
    pub(crate) parent: Option<Arc<Self>>,
}

/// How many children an agent has had, and has now.
pub(crate) struct Family {
    born: AtomicU32,
    pub(crate) places: Arc<Semaphore>,
    /// Of those that get a place of their own one is born at a time, in the order in which they
    /// were called for.
    pub(crate) door: Semaphore,
}

impl Family {
    /// Makes room for the children of one that has had so many.
    pub(crate) fn of(places: usize, born: u32) -> Self {
        Self { born: AtomicU32::new(born), places: self::places(places), door: Semaphore::new(1) }
    }

    pub(crate) fn born(&self) -> u32 {
        self.born.load(Relaxed)
    }

    pub(crate) fn next(&self) -> u32 {
        self.born.fetch_add(1, Relaxed) + 1
    }
}

impl Identity {
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        let (path, id, call) = (self.path.clone(), self.id, self.call.clone());
        Event { seq: 0, at: now(), path, id, call, kind }
    }
}

impl Seat {
    pub(crate) fn path(&self) -> &AgentPath {
        &self.entry.identity.path
    }

    /// Reports whether the agent was let go while it rested, or rested below one that was.
    pub(crate) fn is_dismissed(&self) -> bool {
        let is_above = || self.parent.as_ref().is_some_and(|parent| parent.is_dismissed());
        self.entry.is_dismissed() || self.entry.is_idle() && is_above()
    }

    /// Keeps events, all or none, then shows them.
    pub(crate) async fn record(&self, kinds: Vec<EventKind>) -> Result<(), JournalError> {
        self.shared.record(&self.entry.identity, kinds).await
    }

    /// Shows a fragment without keeping it, if anybody looks.
    pub(crate) fn show(&self, kind: impl FnOnce() -> EventKind) {
        let Shared { bus, id, .. } = &*self.shared;
        if bus.wants_fragments(*id) {
            bus.publish(*id, self.entry.identity.event(kind()));
        }
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
