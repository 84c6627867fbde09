//! A thread that is waited for.

use std::{
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
};

/// A thread with a queue of jobs. Dropping it waits until all of them are done, since
/// the process may end right after.
///
/// The queue has no bound of its own: each agent and each reader awaits its job before
/// it gives another, so there are never more jobs than those.
pub(crate) struct Worker<Job> {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl<Job: Send + 'static> Worker<Job> {
    /// Starts the thread. If the system refuses it one, every job is turned away.
    pub(crate) fn start(name: &str, work: impl FnOnce(Receiver<Job>) + Send + 'static) -> Self {
        let (jobs, queue) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(queue)).ok();
        Self { jobs: Some(jobs), thread }
    }

    /// Queues a job, or gives it back if there is no thread to do it.
    pub(crate) fn give(&self, job: Job) -> Result<(), Job> {
        match &self.jobs {
            Some(jobs) => jobs.send(job).map_err(|refused| refused.0),
            None => Err(job),
        }
    }
}

impl<Job> Drop for Worker<Job> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
