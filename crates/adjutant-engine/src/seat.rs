//! What an agent at work holds.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use adjutant_core::{
    AgentId, AgentPath, Answer, Ask, CallId, Event, EventKind, Grant, JournalError, Millis, Model,
    Tool, ToolSpec,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{custody::Custody, roster::Entry, session::Shared};

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
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) grant: Grant,
    /// Cancelled when the agent is to leave its work: told to, or out of time. The
    /// tokens of its calls and children hang below.
    pub(crate) work: CancellationToken,
    pub(crate) custody: Custody,
    pub(crate) workdir: Arc<Path>,
    pub(crate) family: Family,
}

/// How many children an agent has had, and has now.
pub(crate) struct Family {
    born: AtomicU32,
    pub(crate) places: Arc<Semaphore>,
}

impl Family {
    pub(crate) fn of(places: usize) -> Self {
        let places = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { born: AtomicU32::new(0), places }
    }

    pub(crate) fn next(&self) -> u32 {
        self.born.fetch_add(1, Relaxed) + 1
    }
}

/// The tools an agent is offered.
#[derive(Default)]
pub(crate) struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
    pub(crate) specs: Vec<Arc<ToolSpec>>,
}

impl ToolSet {
    /// Returns those of the session's tools that a grant offers.
    pub(crate) fn of(all: &[Arc<dyn Tool>], grant: &Grant) -> Self {
        let offered = all.iter().map(|tool| (tool, tool.spec()));
        let offered = offered.filter(|(_, spec)| grant.offers(spec));
        let (tools, specs) = offered.map(|(tool, spec)| (Arc::clone(tool), spec)).unzip();
        Self { tools, specs }
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&Arc<dyn Tool>, &Arc<ToolSpec>)> {
        let place = self.specs.iter().position(|spec| spec.name == name)?;
        Some((&self.tools[place], &self.specs[place]))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.specs.iter().map(|spec| spec.name.clone()).collect()
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

    /// Keeps events, all or none, then shows them.
    pub(crate) async fn record(&self, kinds: Vec<EventKind>) -> Result<(), JournalError> {
        self.shared.record(&self.entry.identity, kinds).await
    }

    /// Shows a fragment without keeping it, if anybody looks.
    pub(crate) fn show(&self, kind: impl FnOnce() -> EventKind) {
        let Shared { bus, id, .. } = &*self.shared;
        if bus.is_watched(*id) {
            bus.publish(*id, self.entry.identity.event(kind()));
        }
    }

    /// Asks a person. Nobody else waits meanwhile, and the clock stands still.
    pub(crate) async fn ask(&self, call: &CallId, ask: Ask) -> Result<Answer, JournalError> {
        let desk = &self.shared.desk;
        let (question, answer) = desk.open(self.path().clone());
        let asked = EventKind::Asked { question, call_id: call.clone(), ask: Arc::new(ask) };
        let answered = |answer: &Answer| EventKind::Answered { question, answer: answer.clone() };
        if !desk.is_attended() {
            desk.withdraw(question);
            self.shared.unanswered.store(true, Relaxed);
            self.record(vec![asked, answered(&Answer::Unattended)]).await?;
            return Ok(Answer::Unattended);
        }
        self.record(vec![asked]).await?;
        let (_hold, _waits) = (self.entry.clock.hold(), self.entry.waits());
        let answer = tokio::select! {
            Ok(answer) = answer => answer,
            () = desk.deserted(self.shared.settings.question_grace) => {
                self.shared.unanswered.store(true, Relaxed);
                Answer::Unattended
            }
            () = self.work.cancelled() => {
                desk.withdraw(question);
                self.record(vec![EventKind::Withdrawn { question }]).await?;
                return Ok(Answer::Unattended);
            }
        };
        desk.withdraw(question);
        self.record(vec![answered(&answer)]).await?;
        Ok(answer)
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
