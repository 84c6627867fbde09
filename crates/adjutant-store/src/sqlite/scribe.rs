//! Who writes what waits: whoever waits for it, or a thread.

use std::{
    future::poll_fn,
    mem,
    sync::{Arc, LazyLock, mpsc::Receiver},
    task::Poll,
};

use adjutant_core::{Bus, JournalError};
use tokio::sync::oneshot;

use super::{
    Durability,
    entry::Entry,
    queue::{Progress, Queue},
    writer::{Open, Writer},
};
use crate::worker::Worker;

/// A queue of entries that is written by whoever waits for one of them: that takes a
/// fraction of what it would take to wake a thread for it. A thread does it where the disk
/// or another process has to be waited for. Dropping it writes what is left.
pub(super) struct Scribe {
    queue: Arc<Queue>,
    durability: Durability,
    thread: LazyLock<Worker<Wait>, Start>,
}

/// Something in the queue has to be waited for.
struct Wait;

type Start = Box<dyn FnOnce() -> Worker<Wait> + Send + Sync>;

impl Scribe {
    pub(super) fn new(open: Open, durability: Durability, bus: Arc<dyn Bus>) -> Self {
        let queue = Arc::new(Queue::new(Writer::new(open, bus)));
        let work = {
            let queue = Arc::clone(&queue);
            move |jobs: Receiver<Wait>| jobs.iter().for_each(|Wait| queue.write_patiently())
        };
        let start: Start = Box::new(move || Worker::start("journal-writer", work));
        Self { queue, durability, thread: LazyLock::new(start) }
    }

    pub(super) fn take(&self, entry: Entry) {
        self.queue.push(entry);
    }

    /// Sees to it that an entry is written, also if nobody waits until it is.
    pub(super) fn see_to<T>(
        scribe: &Arc<Self>,
        written: oneshot::Receiver<Result<T, JournalError>>,
    ) -> impl Future<Output = Option<Result<T, JournalError>>> + use<T> {
        let care = Care { scribe: Arc::clone(scribe), is_written: false };
        async move {
            let written = care.scribe.write(written).await;
            care.end();
            written
        }
    }

    async fn write<T>(
        &self,
        mut written: oneshot::Receiver<Result<T, JournalError>>,
    ) -> Option<Result<T, JournalError>> {
        // Whoever else is ready to write comes first, so that one commit keeps it all.
        let mut has_waited = false;
        poll_fn(|context| {
            if mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        if let Ok(written) = written.try_recv() {
            return Some(written);
        }
        match self.durability {
            Durability::Process if self.queue.write() == Progress::Done => {}
            Durability::Process | Durability::Power => self.hand_over(),
        }
        written.await.ok()
    }

    /// Has the thread write what waits.
    fn hand_over(&self) {
        // Where there can be no thread, waiting here is better than never to be written.
        if self.thread.give(Wait).is_err() {
            self.queue.write_patiently();
        }
    }
}

/// Cares for an entry until it is written.
struct Care {
    scribe: Arc<Scribe>,
    is_written: bool,
}

impl Care {
    fn end(mut self) {
        self.is_written = true;
    }
}

impl Drop for Care {
    fn drop(&mut self) {
        if !self.is_written {
            self.scribe.hand_over();
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.queue.write_patiently();
    }
}
