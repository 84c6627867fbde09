//! A journal and a vault in a file.
//!
//! ```text
//! append ─▶ encode ─▶ queue ─▶ writer: number ─▶ commit ─▶ publish ─▶ acknowledge
//! keep   ─▶ name ───▶ queue ─▶ writer ─────────▶ commit ────────────▶ acknowledge
//! read   ───────────▶ queue ─▶ reader: select ─▶ decode ─▶ answer
//! ```
//!
//! No task waits for the disk or for another process: a thread does, and another one looks
//! things up. What needs no waiting is written by whoever wants it written ([`Scribe`]).

mod database;
mod entry;
mod queue;
mod reader;
mod scribe;
mod writer;

use std::{
    path::PathBuf,
    sync::{Arc, LazyLock, mpsc::Receiver},
};

use adjutant_core::{
    Bus, Digest, Event, Journal, JournalError, Seq, SessionEntry, SessionId, Vault,
};
use futures_util::future::{self, BoxFuture, FutureExt};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{batch, worker::Worker};
use database::Database;
use entry::{Batch, Content, Entry};
use reader::Question;
use scribe::Scribe;
use writer::Open;

/// What an acknowledged event outlives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The process, however it ends.
    #[default]
    Process,
    /// The machine's power as well, at several times the cost of a commit.
    Power,
}

/// A journal in an SQLite file, and a vault in the same one.
pub struct SqliteJournal {
    path: Arc<PathBuf>,
    scribe: Arc<Scribe>,
    // Few look anything up.
    reader: LazyLock<Worker<Question>, Start>,
}

type Start = Box<dyn FnOnce() -> Worker<Question> + Send + Sync>;

impl SqliteJournal {
    /// Makes a journal in a file, which is opened, and made if need be, when something is
    /// first written or looked up.
    pub fn new(path: impl Into<PathBuf>, durability: Durability, bus: Arc<dyn Bus>) -> Self {
        let path = Arc::new(path.into());
        let open: Open = {
            let path = Arc::clone(&path);
            Arc::new(move |patience| Database::open(&path, durability, patience))
        };
        let scribe = Arc::new(Scribe::new(Arc::clone(&open), durability, bus));
        let read = move |questions: Receiver<Question>| reader::run(&*open, &questions);
        let start: Start = Box::new(move || Worker::start("journal-reader", read));
        Self { path, scribe, reader: LazyLock::new(start) }
    }

    fn gone(&self) -> impl Fn() -> JournalError + use<> {
        let path = Arc::clone(&self.path);
        move || JournalError(format!("the thread that keeps `{}` is gone", path.display()))
    }

    fn write<T: Send + 'static>(
        &self,
        entry: Entry,
        written: oneshot::Receiver<Result<T, JournalError>>,
    ) -> BoxFuture<'static, Result<T, JournalError>> {
        self.scribe.take(entry);
        let (written, gone) = (Scribe::see_to(&self.scribe, written), self.gone());
        written.map(move |written| written.unwrap_or_else(|| Err(gone()))).boxed()
    }

    fn ask<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, JournalError>> {
        let (reply, answer) = oneshot::channel();
        // One that is turned away is dropped, and its reply with it.
        drop(self.reader.give(reader::question(look, reply)));
        let gone = self.gone();
        answer.map(move |answer| answer.unwrap_or_else(|_| Err(gone()))).boxed()
    }
}

impl Journal for SqliteJournal {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        let (reply, written) = oneshot::channel();
        match batch::check(&batch).and_then(|()| Batch::encode(session, batch, reply)) {
            Ok(batch) => self.write(Entry::Batch(batch), written),
            Err(error) => future::ready(Err(error)).boxed(),
        }
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

impl Vault for SqliteJournal {
    fn keep(&self, bytes: Arc<[u8]>) -> BoxFuture<'static, Result<Digest, JournalError>> {
        let (reply, written) = oneshot::channel();
        self.write(Entry::Content(Content { digest: Digest::of(&bytes), bytes, reply }), written)
    }

    fn fetch(
        &self,
        digest: &Digest,
    ) -> BoxFuture<'static, Result<Option<Arc<[u8]>>, JournalError>> {
        let digest = digest.clone();
        self.ask(move |connection| reader::content(connection, &digest))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{LocalBus, conformance};

    #[tokio::test]
    async fn conforms() {
        let (directory, files) = (tempfile::tempdir().unwrap(), Cell::new(0));
        let make = |bus| {
            files.set(files.get() + 1);
            let path = directory.path().join(format!("{}.db", files.get()));
            SqliteJournal::new(path, Durability::Process, bus)
        };
        conformance::journal(|bus| Arc::new(make(bus))).await;
        conformance::vault(|| Arc::new(make(Arc::new(LocalBus::default())))).await;
    }
}
