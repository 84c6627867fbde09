//! The file and its tables.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use adjutant_core::JournalError;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::Durability;

/// How long another process may hold the file before we give up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two tries, where SQLite does not do it for us.
const PAUSE: Duration = Duration::from_millis(5);

/// What made each version of the tables from the one before. Only ever added to.
const MIGRATIONS: &[&str] = &[
    "create table session (
        key integer primary key,
        id blob not null unique,
        at integer not null
    ) strict;
    create table event (
        session integer not null,
        seq integer not null,
        body text not null,
        primary key (session, seq)
    ) strict, without rowid;",
    "alter table event rename to former;
    create table event (
        id integer primary key,
        body text not null
    ) strict;
    insert into event select (session << 40) + seq, body from former;
    drop table former;",
    "create table content (
        digest text not null unique,
        bytes blob not null
    ) strict;",
];

/// How many of the bits of an event's id are its position; the others are its session's
/// key. One number as the key keeps a session's events together without an index.
const POSITION: u32 = 40;

/// Returns the id of an event.
pub(super) const fn place(session: i64, position: i64) -> i64 {
    (session << POSITION) + position
}

/// Returns the position that is in an event's id.
pub(super) const fn position(id: i64) -> i64 {
    id & ((1 << POSITION) - 1)
}

/// A file of events, open.
pub(super) struct Database {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
}

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
enum Unopened {
    #[error("its directory cannot be made: {0}")]
    Directory(io::Error),
    #[error("{0}")]
    File(io::Error),
    #[error(
        "it is of version {found}, and this program knows versions up to {}: use a newer program \
         or another file",
        MIGRATIONS.len()
    )]
    Version { found: i64 },
    #[error("it cannot have a write-ahead log there: use a file on a local disk")]
    NoLog,
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// How long something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Not longer than it takes if nobody else is at it and nothing has to reach the disk.
    None,
    /// As long as the disk and other processes want.
    Some,
}

impl Patience {
    pub(super) const fn time(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Some => PATIENCE,
        }
    }
}

impl Database {
    /// Opens a file, or makes it and its directory, unless there is no patience for that.
    pub(super) fn open(
        path: &Path,
        durability: Durability,
        patience: Patience,
    ) -> Result<Option<Self>, JournalError> {
        let connection = match open(path, durability, patience) {
            Err(Unopened::Sqlite(error)) if is_busy(&error) && patience == Patience::None => None,
            opened => opened
                .map_err(|why| JournalError(format!("cannot open `{}`: {why}", path.display())))?,
        };
        Ok(connection.map(|connection| Self { path: path.to_owned(), connection }))
    }
}

fn open(
    path: &Path,
    durability: Durability,
    patience: Patience,
) -> Result<Option<Connection>, Unopened> {
    if patience == Patience::None && !path.exists() {
        return Ok(None);
    }
    if let Some(directory) = path.parent() {
        make_private(directory).map_err(Unopened::Directory)?;
    }
    make_file(path).map_err(Unopened::File)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(patience.time())?;
    if version(&connection)? != MIGRATIONS.len() as i64 {
        if patience == Patience::None {
            return Ok(None);
        }
        migrate(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)?;
    }
    use_log(&connection, patience)?;
    let synchronous = match durability {
        Durability::Process => "normal",
        Durability::Power => "full",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    Ok(Some(connection))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Turns the write-ahead log on. When several open a new file at once, SQLite does not
/// wait here by itself.
fn use_log(connection: &Connection, patience: Patience) -> Result<(), Unopened> {
    let start = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return Err(Unopened::NoLog),
            Err(error) if is_busy(&error) && start.elapsed() < patience.time() => {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Makes a directory that only its owner can look into.
fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Makes the file, if it is not there, so that only its owner can read it. SQLite gives
/// its other files the same permissions.
fn make_file(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.append(true).create(true).open(path).map(drop)
}

fn migrate(transaction: Transaction<'_>) -> Result<(), Unopened> {
    let found = version(&transaction)?;
    let known = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found..));
    let steps = known.ok_or(Unopened::Version { found })?;
    if steps.is_empty() {
        return Ok(());
    }
    for step in steps {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_waited_for_as_often_as_was_asked() {
        let directory = tempfile::tempdir().unwrap();
        for (durability, expected) in [(Durability::Process, 1), (Durability::Power, 2)] {
            let path = directory.path().join("journal.db");
            let connection = open(&path, durability, Patience::Some).unwrap().unwrap();
            let synchronous: i64 =
                connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            assert_eq!(synchronous, expected, "{durability:?}");
        }
    }
}
