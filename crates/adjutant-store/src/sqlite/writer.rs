//! The one who numbers, commits, publishes and acknowledges.

use std::{collections::HashMap, path::Path, sync::mpsc::Receiver};

use adjutant_core::{Bus, Event, JournalError, Millis, Seq, SessionId};
use rusqlite::{
    ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
    types::{ToSqlOutput, ValueRef},
};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::database::Database;
#[cfg(debug_assertions)]
use crate::failpoint::{Failpoint, Place};

/// How many events are committed together at most, give or take a batch.
const GROUP: usize = 1024;

const FIND: &str = "select key, (select coalesce(max(seq), 0) from event where session = key)
    from session where id = ?1";
const ADMIT: &str = "insert into session (id, at) values (?1, ?2)";
const KEEP: &str = "insert into event (session, seq, body) values (?1, ?2, ?3)";

/// Events to be kept together.
pub(super) struct Batch {
    session: SessionId,
    events: Vec<Event>,
    // The events as JSON, one after the other, and where each ends.
    bodies: Vec<u8>,
    ends: Vec<usize>,
    last: Seq,
    reply: oneshot::Sender<Result<Seq, JournalError>>,
}

impl Batch {
    /// Encodes events, on the thread of whoever appends: the writer has enough to do.
    pub(super) fn encode(
        session: SessionId,
        mut events: Vec<Event>,
        reply: oneshot::Sender<Result<Seq, JournalError>>,
    ) -> Result<Self, JournalError> {
        let (mut bodies, mut ends) = (Vec::new(), Vec::with_capacity(events.len()));
        for event in &mut events {
            // The position is a column of its own.
            event.seq = 0;
            serde_json::to_writer(&mut bodies, event).map_err(|error| {
                JournalError(format!("an event of `{}` cannot be written: {error}", event.path))
            })?;
            ends.push(bodies.len());
        }
        Ok(Self { session, events, bodies, ends, last: 0, reply })
    }
}

/// Where a session's next event goes.
#[derive(Clone, Copy)]
struct Tail {
    key: i64,
    last: i64,
}

/// Works until nobody can give it anything any more.
pub(super) fn run(
    open: impl Fn() -> Result<Database, JournalError>,
    bus: &dyn Bus,
    batches: &Receiver<Batch>,
) {
    // Opened for the first batch, so that a journal nobody writes to leaves no file.
    let mut writer = None;
    let mut group = Vec::new();
    while gather(batches, &mut group) {
        let written = match writer.get_or_insert_with(|| open().and_then(Writer::new)) {
            Ok(writer) => writer.write(bus, &mut group),
            Err(error) => Err(error.clone()),
        };
        for batch in group.drain(..) {
            drop(batch.reply.send(written.clone().map(|()| batch.last)));
        }
    }
}

/// Waits for a batch and takes those that came with it. Reports whether there was one.
fn gather(batches: &Receiver<Batch>, group: &mut Vec<Batch>) -> bool {
    let Ok(first) = batches.recv() else { return false };
    let mut events = first.events.len();
    group.push(first);
    while events < GROUP {
        let Ok(batch) = batches.try_recv() else { break };
        events += batch.events.len();
        group.push(batch);
    }
    true
}

struct Writer {
    database: Database,
    tails: HashMap<SessionId, Tail>,
    // The tails as they will be if the group that is being written is committed.
    moved: HashMap<SessionId, Tail>,
    #[cfg(debug_assertions)]
    failpoint: Failpoint,
}

impl Writer {
    fn new(database: Database) -> Result<Self, JournalError> {
        Ok(Self {
            database,
            tails: HashMap::new(),
            moved: HashMap::new(),
            #[cfg(debug_assertions)]
            failpoint: Failpoint::from_env().map_err(JournalError)?,
        })
    }

    fn write(&mut self, bus: &dyn Bus, group: &mut [Batch]) -> Result<(), JournalError> {
        self.moved.clear();
        self.commit(group).map_err(|error| failure(&self.database.path, &error))?;
        self.tails.extend(self.moved.drain());
        #[cfg(debug_assertions)]
        self.failpoint.reach(Place::AfterCommit);
        for batch in group {
            batch.events.drain(..).for_each(|event| bus.publish(batch.session, event));
        }
        #[cfg(debug_assertions)]
        self.failpoint.reach(Place::AfterPublish);
        Ok(())
    }

    fn commit(&mut self, group: &mut [Batch]) -> rusqlite::Result<()> {
        let connection = &mut self.database.connection;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for batch in group {
            let known = self.moved.get(&batch.session).or_else(|| self.tails.get(&batch.session));
            let mut tail = match known {
                Some(tail) => *tail,
                None => find(&transaction, batch.session, batch.events[0].at)?,
            };
            keep(&transaction, batch, &mut tail)?;
            self.moved.insert(batch.session, tail);
        }
        transaction.commit()
    }
}

fn find(transaction: &Transaction<'_>, session: SessionId, at: Millis) -> rusqlite::Result<Tail> {
    let id = Uuid::from(session).into_bytes();
    let tail = |row: &rusqlite::Row<'_>| Ok(Tail { key: row.get(0)?, last: row.get(1)? });
    if let Some(tail) = transaction.prepare_cached(FIND)?.query_row([id], tail).optional()? {
        return Ok(tail);
    }
    transaction.execute(ADMIT, params![id, i64::try_from(at).unwrap_or(i64::MAX)])?;
    Ok(Tail { key: transaction.last_insert_rowid(), last: 0 })
}

fn keep(transaction: &Transaction<'_>, batch: &mut Batch, tail: &mut Tail) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(KEEP)?;
    let mut start = 0;
    for (event, end) in batch.events.iter_mut().zip(&batch.ends) {
        tail.last += 1;
        event.seq = tail.last.unsigned_abs();
        let body = ToSqlOutput::Borrowed(ValueRef::Text(&batch.bodies[start..*end]));
        insert.execute(params![tail.key, tail.last, body])?;
        start = *end;
    }
    batch.last = tail.last.unsigned_abs();
    Ok(())
}

fn failure(path: &Path, error: &rusqlite::Error) -> JournalError {
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
    use super::*;
    use crate::{Durability, LocalBus};

    fn batch(session: u128) -> Batch {
        let id = Uuid::from_u128(1);
        let rested = format!(r#"{{"seq":0,"at":0,"path":"root","id":"{id}","event":"rested"}}"#);
        let events = vec![serde_json::from_str(&rested).unwrap()];
        let session = Uuid::from_u128(session).into();
        Batch::encode(session, events, oneshot::channel().0).unwrap()
    }

    #[test]
    fn a_group_that_fails_leaves_every_session_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let database = Database::open(&path, Durability::Process).unwrap();
        let (mut writer, bus) = (Writer::new(database).unwrap(), LocalBus::default());
        writer.write(&bus, &mut [batch(1)]).unwrap();
        let taken = "insert into event (session, seq, body) values (1, 2, '')";
        writer.database.connection.execute(taken, []).unwrap();

        assert!(writer.write(&bus, &mut [batch(2), batch(1)]).is_err());
        let mut second = [batch(2), batch(2)];
        writer.write(&bus, &mut second).unwrap();
        assert_eq!(second.map(|batch| batch.last), [1, 2]);
    }
}
