//! Commands in the background, and whose they are.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{AgentPath, Held, ToolError, Touch};
use futures_util::future::BoxFuture;

use super::job::Job;

/// How many an agent may have, those that have ended included.
const MOST: usize = 16;

/// The commands in the background of a whole tree.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Table>);

#[derive(Default)]
struct Table {
    started: usize,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    owner: AgentPath,
    /// What it may do besides running.
    freedoms: Vec<Touch>,
    job: Arc<Job>,
}

impl Jobs {
    /// Starts a command for an agent and returns its name. The oldest that has ended makes
    /// room for it, if there is none.
    pub(crate) fn add(
        &self,
        owner: &AgentPath,
        freedoms: Vec<Touch>,
        start: impl FnOnce() -> io::Result<Arc<Job>>,
    ) -> Result<(String, Arc<Job>), ToolError> {
        let table = &mut *self.table();
        let of_owner = |entry: &Entry| entry.owner == *owner;
        if table.entries.iter().filter(|entry| of_owner(entry)).count() >= MOST {
            let is_free = |entry: &Entry| of_owner(entry) && entry.job.end().is_some();
            let Some(oldest) = table.entries.iter().position(is_free) else {
                let why = format!("{MOST} commands run in the background: stop one of them first");
                return Err(ToolError(why));
            };
            table.entries.remove(oldest);
        }
        let job = start().map_err(|error| ToolError(format!("it cannot be started: {error}")))?;
        table.started += 1;
        let name = format!("job-{}", table.started);
        let entry =
            Entry { name: name.clone(), owner: owner.clone(), freedoms, job: Arc::clone(&job) };
        table.entries.push(entry);
        Ok((name, job))
    }

    /// Finds a command of an agent. Those of others do not exist for it.
    pub(crate) fn find(&self, name: &str, owner: &AgentPath) -> Result<Arc<Job>, ToolError> {
        let table = self.table();
        let own = table.entries.iter().filter(|entry| entry.owner == *owner);
        if let Some(entry) = own.clone().find(|entry| entry.name == name) {
            return Ok(Arc::clone(&entry.job));
        }
        let names: Vec<_> = own.map(|entry| entry.name.as_str()).collect();
        let there_are = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(ToolError(format!("there is no job `{name}`; there are: {there_are}")))
    }

    /// Returns what a command may do besides running. Its input can make it do that.
    pub(crate) fn freedoms(&self, name: &str) -> Vec<Touch> {
        let table = self.table();
        let entry = table.entries.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.freedoms.clone()).unwrap_or_default()
    }

    fn knows(&self, job: &Arc<Job>) -> bool {
        self.table().entries.iter().any(|entry| Arc::ptr_eq(&entry.job, job))
    }

    fn forget(&self, job: &Arc<Job>) {
        self.table().entries.retain(|entry| !Arc::ptr_eq(&entry.job, job));
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command in an agent's custody. It ends when this is dropped, and nobody can ask for it
/// any more.
pub(crate) struct HeldJob {
    pub(crate) job: Arc<Job>,
    pub(crate) jobs: Arc<Jobs>,
}

impl Held for HeldJob {
    fn what(&self) -> String {
        format!("the command `{}`", self.job.title())
    }

    // As long as it can be asked for it has to be forgotten with the agent.
    fn is_over(&mut self) -> bool {
        let has_ended = self.job.end().is_some_and(|end| end.trouble().is_none());
        has_ended && !self.jobs.knows(&self.job)
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            self.job.stop();
            let end = self.job.settled().await;
            end.trouble().map_or(Ok(()), |why| Err(why.to_owned()))
        })
    }
}

impl Drop for HeldJob {
    fn drop(&mut self) {
        self.job.stop();
        self.jobs.forget(&self.job);
    }
}
