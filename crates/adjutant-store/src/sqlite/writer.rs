//! The one who numbers, commits and publishes.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
};

use adjutant_core::{Bus, JournalError, Millis, SessionId};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, params,
    types::{ToSqlOutput, ValueRef},
};
use uuid::Uuid;

use super::{
    database::{Database, Patience, is_busy, place},
    entry::{Batch, Content, Entry},
};
#[cfg(debug_assertions)]
use crate::failpoint::{Failpoint, Place};

/// How many pages of the write-ahead log are copied back at one time. Pages that change
/// often are copied back less often.
const CHECKPOINT: i32 = 4000;

const FIND: &str = "select key from session where id = ?1";
const LAST: &str = "select coalesce(max(id), ?1) - ?1 from event where id between ?1 and ?2";
const ADMIT: &str = "insert into session (id, at) values (?1, ?2)";
const KEEP: &str = "insert into event (id, body) values (?1, ?2)";
const STORE: &str = "insert into content (digest, bytes) values (?1, ?2) on conflict do nothing";

/// Where a session's next event goes.
#[derive(Clone, Copy)]
struct Tail {
    key: i64,
    last: i64,
}

/// Why a group was not written.
pub(super) enum Failure {
    /// It has to wait, for which there was no patience.
    Busy,
    Broken(JournalError),
}

/// Writes groups of entries.
pub(super) struct Writer {
    open: Open,
    bus: Arc<dyn Bus>,
    // Opened for the first entry, so that a journal nobody writes to leaves no file.
    file: Option<Result<File, JournalError>>,
}

pub(super) type Open =
    Arc<dyn Fn(Patience) -> Result<Option<Database>, JournalError> + Send + Sync>;

impl Writer {
    pub(super) fn new(open: Open, bus: Arc<dyn Bus>) -> Self {
        Self { open, bus, file: None }
    }

    /// Writes a group, all or nothing, and shows it.
    pub(super) fn write(&mut self, group: &mut [Entry], patience: Patience) -> Result<(), Failure> {
        if patience == Patience::None && group.iter().any(Entry::is_big) {
            return Err(Failure::Busy);
        }
        let Self { open, bus, file } = self;
        if file.is_none() {
            *file = open(patience).and_then(|opened| opened.map(File::new).transpose()).transpose();
        }
        match file {
            Some(Ok(file)) => file.write(&**bus, group, patience),
            Some(Err(error)) => Err(Failure::Broken(error.clone())),
            None => Err(Failure::Busy),
        }
    }

    /// Reports whether the write-ahead log has grown long.
    pub(super) fn is_untidy(&self) -> bool {
        matches!(&self.file, Some(Ok(file)) if file.log.load(Relaxed) >= CHECKPOINT)
    }

    /// Copies a long write-ahead log back into the file, which waits for the disk.
    pub(super) fn tidy(&mut self) {
        if self.is_untidy()
            && let Some(Ok(file)) = &self.file
        {
            file.log.store(0, Relaxed);
            // If others are at it, the next one will do it.
            let copied = file.database.connection.prepare_cached("pragma wal_checkpoint(passive)");
            let _ = copied.and_then(|mut copy| copy.query_row([], |_| Ok(())));
        }
    }
}

/// The file, and what is known of it.
struct File {
    database: Database,
    tails: HashMap<SessionId, Tail>,
    // The tails as they will be if the group that is being written is committed.
    moved: HashMap<SessionId, Tail>,
    // How long the write-ahead log is, in pages.
    log: Arc<AtomicI32>,
    #[cfg(debug_assertions)]
    failpoint: Failpoint,
}

impl File {
    fn new(mut database: Database) -> Result<Self, JournalError> {
        let log = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&log);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages| {
            seen.store(pages, Relaxed);
            Ok(())
        };
        let hooked = database.connection.wal_hook(Some(hook));
        hooked.map_err(|error| JournalError(error.to_string()))?;
        Ok(Self {
            database,
            tails: HashMap::new(),
            moved: HashMap::new(),
            log,
            #[cfg(debug_assertions)]
            failpoint: Failpoint::from_env().map_err(JournalError)?,
        })
    }

    fn write(
        &mut self,
        bus: &dyn Bus,
        group: &mut [Entry],
        patience: Patience,
    ) -> Result<(), Failure> {
        self.moved.clear();
        self.commit(group, patience).map_err(|error| match patience {
            Patience::None if is_busy(&error) => Failure::Busy,
            Patience::None | Patience::Some => {
                Failure::Broken(explain(&self.database.path, &error))
            }
        })?;
        self.tails.extend(self.moved.drain());
        #[cfg(debug_assertions)]
        self.failpoint.reach(Place::AfterCommit);
        for entry in group {
            entry.show(bus);
        }
        #[cfg(debug_assertions)]
        self.failpoint.reach(Place::AfterPublish);
        Ok(())
    }

    fn commit(&mut self, group: &mut [Entry], patience: Patience) -> rusqlite::Result<()> {
        let Self { database: Database { connection, .. }, tails, moved, .. } = self;
        connection.busy_timeout(patience.time())?;
        connection.prepare_cached("begin immediate")?.execute([])?;
        let keep = || {
            for entry in group {
                let batch = match entry {
                    Entry::Content(content) => {
                        store(connection, content)?;
                        continue;
                    }
                    Entry::Batch(batch) => batch,
                };
                let known = moved.get(&batch.session).or_else(|| tails.get(&batch.session));
                let mut tail = match known {
                    Some(tail) => *tail,
                    None => find(connection, batch.session, batch.events[0].at)?,
                };
                keep(connection, batch, &mut tail)?;
                moved.insert(batch.session, tail);
            }
            connection.prepare_cached("commit")?.execute([]).map(drop)
        };
        let kept = keep();
        if kept.is_err() && !connection.is_autocommit() {
            // What went wrong first is what matters.
            let _ = connection.prepare_cached("rollback").and_then(|mut it| it.execute([]));
        }
        kept
    }
}

fn find(connection: &Connection, session: SessionId, at: Millis) -> rusqlite::Result<Tail> {
    let id = Uuid::from(session).into_bytes();
    let key = connection.prepare_cached(FIND)?.query_row([id], |row| row.get(0)).optional()?;
    if let Some(key) = key {
        let ends = [place(key, 0), place(key + 1, 0) - 1];
        let last = connection.prepare_cached(LAST)?.query_row(ends, |row| row.get(0))?;
        return Ok(Tail { key, last });
    }
    connection.execute(ADMIT, params![id, i64::try_from(at).unwrap_or(i64::MAX)])?;
    Ok(Tail { key: connection.last_insert_rowid(), last: 0 })
}

fn keep(connection: &Connection, batch: &mut Batch, tail: &mut Tail) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(KEEP)?;
    let mut start = 0;
    for (event, end) in batch.events.iter_mut().zip(&batch.ends) {
        tail.last += 1;
        event.seq = tail.last.unsigned_abs();
        let body = ToSqlOutput::Borrowed(ValueRef::Text(&batch.bodies[start..*end]));
        insert.execute(params![place(tail.key, tail.last), body])?;
        start = *end;
    }
    batch.last = tail.last.unsigned_abs();
    Ok(())
}

fn store(connection: &Connection, content: &Content) -> rusqlite::Result<()> {
    let row = params![content.digest.as_str(), &content.bytes[..]];
    connection.prepare_cached(STORE)?.execute(row).map(drop)
}

fn explain(path: &Path, error: &rusqlite::Error) -> JournalError {
    let path = path.display();
    // A position we were sure of is taken. Our idea of the tail stays as it was, so all
    // that comes later fails too, rather than being mixed with the other's.
    if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
        return JournalError(format!(
            "cannot write `{path}`: another process writes to the same session; end one of them"
        ));
    }
    JournalError(format!("cannot write `{path}`: {error}"))
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Durability, LocalBus};

    fn batch(session: u128) -> Entry {
        let id = Uuid::from_u128(1);
        let rested = format!(r#"{{"seq":0,"at":0,"path":"root","id":"{id}","event":"rested"}}"#);
        let events = vec![serde_json::from_str(&rested).unwrap()];
        let session = Uuid::from_u128(session).into();
        Entry::Batch(Batch::encode(session, events, oneshot::channel().0).unwrap())
    }

    #[test]
    fn a_group_that_fails_leaves_every_session_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let database = Database::open(&path, Durability::Process, Patience::Some);
        let database = database.unwrap().unwrap();
        let (mut file, bus) = (File::new(database).ok().unwrap(), LocalBus::default());
        let mut write = |group: &mut [Entry]| file.write(&bus, group, Patience::Some);
        write(&mut [batch(1)]).ok().unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute(KEEP, params![place(1, 2), ""]).unwrap();

        assert!(write(&mut [batch(2), batch(1)]).is_err());
        let mut second = [batch(2), batch(2)];
        write(&mut second).ok().unwrap();
        let last = |entry| match entry {
            Entry::Batch(batch) => batch.last,
            Entry::Content(_) => 0,
        };
        assert_eq!(second.map(last), [1, 2]);
    }

    fn writer(path: &Path) -> Writer {
        let path = path.to_owned();
        let open: Open =
            Arc::new(move |patience| Database::open(&path, Durability::Process, patience));
        Writer::new(open, Arc::new(LocalBus::default()))
    }

    #[test]
    fn a_big_content_is_not_written_while_a_task_waits() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer(&directory.path().join("journal.db"));
        let content = |length| {
            let bytes: Arc<[u8]> = vec![0; length].into();
            let (digest, reply) = (adjutant_core::Digest::of(&bytes), oneshot::channel().0);
            [batch(1), Entry::Content(Content { digest, bytes, reply })]
        };
        let (mut big, mut small) = (content(1_000_000), content(1000));
        assert!(writer.write(&mut big, Patience::Some).is_ok());
        assert!(writer.write(&mut small, Patience::None).is_ok());
        let written = writer.write(&mut content(2_000_000), Patience::None);
        assert!(matches!(written, Err(Failure::Busy)));
    }

    #[test]
    fn a_long_log_is_copied_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let mut writer = writer(&path);
        while !writer.is_untidy() {
            let mut group: Vec<_> = (0..500).map(batch).collect();
            writer.write(&mut group, Patience::Some).ok().unwrap();
        }
        let before = std::fs::metadata(&path).unwrap().len();
        writer.tidy();
        assert!(!writer.is_untidy());
        assert!(std::fs::metadata(&path).unwrap().len() > before);
    }
}
