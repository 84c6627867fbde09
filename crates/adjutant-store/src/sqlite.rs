//! A journal in a file.
//!
//! ```text
//! append ─▶ encode ─▶ queue ─▶ writer: number ─▶ commit ─▶ publish ─▶ acknowledge
//! read   ───────────▶ queue ─▶ reader: select ─▶ decode ─▶ answer
//! ```
//!
//! Each of the two is a thread with a connection of its own, so neither waits for the
//! other and no task waits for the disk.

mod database;
mod reader;
mod writer;

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock, mpsc::Receiver},
};

use adjutant_core::{Bus, Event, Journal, JournalError, Seq, SessionEntry, SessionId};
use futures_util::future::{self, BoxFuture, FutureExt};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{batch, worker::Worker};
use database::Database;
use reader::Question;
use writer::Batch;

/// What an acknowledged event outlives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The process, however it ends.
    #[default]
    Process,
    /// The machine's power as well, at several times the cost of a commit.
    Power,
}

/// A journal in an SQLite file.
pub struct SqliteJournal {
    path: Arc<PathBuf>,
    writer: Worker<Batch>,
    // Few look anything up.
    reader: LazyLock<Worker<Question>, Start>,
}

type Start = Box<dyn FnOnce() -> Worker<Question> + Send + Sync>;

impl SqliteJournal {
    /// Makes a journal that writes to a file and publishes on a bus. The file is opened,
    /// or made, when it is first needed; if that fails, each call says why.
    pub fn new(path: impl Into<PathBuf>, durability: Durability, bus: Arc<dyn Bus>) -> Self {
        let path = Arc::new(path.into());
        let open = {
            let path = Arc::clone(&path);
            move || Database::open(&path, durability)
        };
        let write = {
            let open = open.clone();
            move |batches: Receiver<Batch>| writer::run(open, &*bus, &batches)
        };
        let read = move |questions: Receiver<Question>| reader::run(open, &questions);
        let reader =
            LazyLock::new(Box::new(move || Worker::start("journal-reader", read)) as Start);
        Self { path, writer: Worker::start("journal-writer", write), reader }
    }

    /// Awaits what a thread replies.
    fn hear<T: Send + 'static>(
        &self,
        reply: oneshot::Receiver<Result<T, JournalError>>,
    ) -> BoxFuture<'static, Result<T, JournalError>> {
        let path = Arc::clone(&self.path);
        let gone =
            move || JournalError(format!("the thread that keeps `{}` is gone", path.display()));
        reply.map(move |reply| reply.unwrap_or_else(|_| Err(gone()))).boxed()
    }

    fn ask<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, JournalError>> {
        let (reply, answer) = oneshot::channel();
        self.reader.give(reader::question(look, reply));
        self.hear(answer)
    }
}

impl Journal for SqliteJournal {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        let (reply, acknowledged) = oneshot::channel();
        match batch::check(&batch).and_then(|()| Batch::encode(session, batch, reply)) {
            Ok(batch) => self.writer.give(batch),
            Err(error) => return future::ready(Err(error)).boxed(),
        }
        self.hear(acknowledged)
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>> {
        self.ask(move |connection| reader::page(connection, session, after, limit))
    }

    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>> {
        self.ask(reader::sessions)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::conformance;

    #[tokio::test]
    async fn conforms() {
        let (directory, files) = (tempfile::tempdir().unwrap(), Cell::new(0));
        conformance::journal(|bus| {
            files.set(files.get() + 1);
            let path = directory.path().join(format!("{}.db", files.get()));
            Arc::new(SqliteJournal::new(path, Durability::Process, bus))
        })
        .await;
    }
}
