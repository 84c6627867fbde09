//! Who writes down what agents did, and when: the runtime, when one has completed its task.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{
    AgentId, AgentPath, Ending, Event, EventKind, Follow, Followed, Journal, Millis, SessionId,
};
use futures_util::future::BoxFuture;
use tokio::task::spawn_blocking;

use super::{record::Record, shelf::Tape};
use crate::{
    agents::{Agents, Definition, Input},
    prompt::Piped,
    secrets::Secrets,
};

/// Writes down what the agents of a session did.
#[derive(Clone)]
pub(crate) struct Keeping(Arc<Desk>);

struct Desk {
    agents: Arc<Agents>,
    secrets: Secrets,
    /// What of the root's task was piped in.
    piped: Option<Piped>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Who is at work, and at what.
    open: HashMap<AgentId, (Arc<Definition>, String)>,
    /// Who remembers more than it should, and how much that is.
    crowded: BTreeMap<String, usize>,
}

impl Keeping {
    /// Prepares to write down what agents do.
    pub(crate) fn new(agents: Arc<Agents>, secrets: Secrets, piped: Option<Piped>) -> Self {
        Self(Arc::new(Desk { agents, secrets, piped, state: Mutex::default() }))
    }

    /// Returns the journal, followed.
    pub(crate) fn follow(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(Followed::new(journal, Arc::new(self.clone())))
    }

    /// Returns what a person should know when all is over.
    pub(crate) fn end(&self) -> Vec<String> {
        let crowded = mem::take(&mut self.0.state().crowded);
        let crowded = crowded.into_iter().map(|(name, count)| {
            format!("`{name}` remembers {count} runs: `adjutant memory gc {name}` cleans up")
        });
        let warnings = self.0.agents.shelf.take_warnings().into_iter().chain(crowded);
        warnings.map(|warning| format!("warning: {warning}")).collect()
    }
}

impl Follow for Keeping {
    fn follow(&self, _: SessionId, batch: &[Event]) -> Option<BoxFuture<'static, ()>> {
        let done: Vec<_> = batch.iter().filter_map(|event| self.0.hear(event)).collect();
        if done.is_empty() {
            return None;
        }
        let desk = Arc::clone(&self.0);
        Some(Box::pin(async move {
            let work = move || done.into_iter().for_each(|(who, record)| desk.write(&who, &record));
            // If it broke there is no record, and the run is none the worse.
            let _ = spawn_blocking(work).await;
        }))
    }
}

impl Piped {
    /// Tells the task without what was piped in.
    fn brief(&self) -> String {
        format!("{} ({} bytes from stdin)", self.besides, self.bytes)
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what happened, and returns what is to be written down.
    fn hear(&self, event: &Event) -> Option<(Arc<Definition>, Record)> {
        match &event.kind {
            EventKind::Started { order, .. } => {
                let definition = Arc::clone(self.agents.library.get(order.agent.as_deref()?)?);
                let memory = definition.memory.as_ref()?;
                if self.agents.shelf.tape == Tape::On {
                    let name = &definition.name;
                    let why = "remembers nothing in a run that is recorded or played again";
                    self.agents.shelf.warn(format!("`{name}` {why}"));
                    return None;
                }
                let piped = self.piped.as_ref().filter(|_| event.path == AgentPath::root());
                let task = match (piped, memory.input) {
                    (Some(piped), Input::Measured) => piped.brief(),
                    (None, _) | (_, Input::Kept) => order.task.clone(),
                };
                self.state().open.insert(event.id, (definition, task));
                None
            }
            EventKind::Finished { outcome, .. } => {
                let (definition, task) = self.state().open.remove(&event.id)?;
                let record = || self.record(event.at, &task, &outcome.text);
                (outcome.ending == Ending::Completed).then(|| (definition, record()))
            }
            _ => None,
        }
    }

    /// Makes a record without secrets. They go before anything is cut: half a secret would not
    /// be found.
    fn record(&self, at: Millis, task: &str, result: &str) -> Record {
        Record::new(at, &self.secrets.hide(task), &self.secrets.hide(result))
    }

    fn write(&self, definition: &Definition, record: &Record) {
        let (name, shelf) = (&definition.name, &self.agents.shelf);
        let book = match shelf.book(definition) {
            Ok(Some(book)) => book,
            Ok(None) => return,
            Err(why) => return shelf.warn(format!("`{name}` will not remember this: {why}")),
        };
        match book.add(record) {
            Ok(count) => {
                let most = definition.memory.as_ref().map_or(u64::MAX, |memory| memory.most.get());
                if count as u64 > most {
                    self.state().crowded.insert(name.clone(), count);
                }
            }
            Err(error) => {
                let file = book.path.display();
                shelf.warn(format!("`{name}` will not remember this: {file}: {error}"));
            }
        }
    }
}
