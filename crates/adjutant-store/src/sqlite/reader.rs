//! The one who looks things up.

use std::sync::{Arc, mpsc::Receiver};

use adjutant_core::{Digest, Event, JournalError, Seq, SessionEntry, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::database::{Database, Patience, place, position};

const FIND: &str = "select key from session where id = ?1";
const PAGE: &str = "select id, body from event where id > ?1 and id < ?2 order by id limit ?3";
const SESSIONS: &str = "select id, at, key from session order by at desc, id desc";
const LAST: &str = "select max(id) from event where id < ?1";
const CONTENT: &str = "select bytes from content where digest = ?1";

/// Something to look up, and the way to answer.
pub(super) type Question = Box<dyn FnOnce(&Result<Database, JournalError>) + Send>;

/// Makes a question of what is to be looked up.
pub(super) fn question<T: Send + 'static>(
    look: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    reply: oneshot::Sender<Result<T, JournalError>>,
) -> Question {
    Box::new(move |database| {
        let answer = database.as_ref().map_err(Clone::clone).and_then(|database| {
            let Database { path, connection } = database;
            let failure = |error| format!("cannot read `{}`: {error}", path.display());
            look(connection).map_err(|error| JournalError(failure(error)))
        });
        drop(reply.send(answer));
    })
}

/// Answers until nobody can ask any more. The file is not opened for nothing.
pub(super) fn run(
    open: &dyn Fn(Patience) -> Result<Option<Database>, JournalError>,
    questions: &Receiver<Question>,
) {
    let Ok(first) = questions.recv() else { return };
    let database = open(Patience::Some).and_then(|opened| opened.ok_or_else(unopened));
    first(&database);
    questions.iter().for_each(|question| question(&database));
}

/// With all the patience there is, a file is opened or there is an error.
fn unopened() -> JournalError {
    JournalError("the file was not opened".to_owned())
}

/// Returns up to `limit` events after a position.
pub(super) fn page(
    connection: &Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> rusqlite::Result<Vec<Arc<Event>>> {
    let id = Uuid::from(session).into_bytes();
    let key = connection.prepare_cached(FIND)?.query_row([id], |row| row.get(0)).optional()?;
    let Some(key) = key else { return Ok(Vec::new()) };
    let (end, limit) = (place(key + 1, 0), i64::try_from(limit).unwrap_or(i64::MAX));
    let after = i64::try_from(after).unwrap_or(i64::MAX).min(end - place(key, 1));
    let page = params![place(key, after), end, limit];
    connection.prepare_cached(PAGE)?.query_map(page, event)?.collect()
}

/// Returns all sessions, the newest first.
pub(super) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SessionEntry>> {
    let mut last = connection.prepare_cached(LAST)?;
    let entry = |row: &Row<'_>| {
        let id = SessionId::from(Uuid::from_bytes(row.get(0)?));
        let (at, key): (i64, i64) = (row.get(1)?, row.get(2)?);
        // Positions have no gaps, so the last one is the count.
        let last: i64 = last.query_row([place(key + 1, 0)], |row| row.get(0))?;
        Ok(SessionEntry { id, at: at.unsigned_abs(), events: position(last).unsigned_abs() })
    };
    connection.prepare_cached(SESSIONS)?.query_map([], entry)?.collect()
}

/// Returns a content, if it is kept.
pub(super) fn content(
    connection: &Connection,
    digest: &Digest,
) -> rusqlite::Result<Option<Arc<[u8]>>> {
    let bytes = |row: &Row<'_>| Ok(Arc::from(row.get_ref(0)?.as_blob()?));
    connection.prepare_cached(CONTENT)?.query_row([digest.as_str()], bytes).optional()
}

fn event(row: &Row<'_>) -> rusqlite::Result<Arc<Event>> {
    let seq = position(row.get(0)?);
    let mut body = serde_json::Deserializer::from_slice(row.get_ref(1)?.as_bytes()?);
    // What was deep enough to be written must be readable again.
    body.disable_recursion_limit();
    let mut event = Event::deserialize(&mut body).map_err(|error| unreadable(seq, &error))?;
    event.seq = seq.unsigned_abs();
    Ok(Arc::new(event))
}

fn unreadable(seq: i64, error: &serde_json::Error) -> rusqlite::Error {
    let what = format!("event {seq} is not understood: {error}");
    rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, what.into())
}
