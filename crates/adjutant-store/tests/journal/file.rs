//! Files that are there already, or cannot be.

use std::{fs, path::Path, sync::Arc};

use adjutant_core::{Bus, Detail, Journal, Vault};
use adjutant_store::LocalBus;
use futures_util::{FutureExt, StreamExt, future};
use rusqlite::Connection;

use crate::{open, open_on, positions, rested, session};

/// Counts the commits in the write-ahead log: of the frames of a commit, each a header of
/// 24 bytes and a page, the last one tells the size of the file.
fn commits(file: &Path) -> usize {
    let log = fs::read(file.with_extension("db-wal")).unwrap();
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize;
    log[32..].chunks(24 + page).filter(|frame| frame[4..8] != [0; 4]).count()
}

#[tokio::test]
async fn numbering_goes_on_where_it_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    assert_eq!(journal.append(session(1), vec![rested(), rested()]).await, Ok(2));
    drop(journal);
    let journal = open(&path);
    assert_eq!(journal.append(session(1), vec![rested()]).await, Ok(3));
    assert_eq!(positions(&journal, session(1)).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_file_of_an_older_version_goes_on_in_the_new_form() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    for number in [1, 2] {
        assert_eq!(journal.append(session(number), vec![rested(), rested()]).await, Ok(2));
    }
    drop(journal);
    let older = Connection::open(&path).unwrap();
    older
        .execute_batch(
            "alter table event rename to newer;
            create table event (session integer not null, seq integer not null,
                body text not null, primary key (session, seq)) strict, without rowid;
            insert into event select id >> 40, id & 0xFFFFFFFFFF, body from newer;
            drop table newer;
            drop table content;
            pragma user_version = 1;",
        )
        .unwrap();
    drop(older);
    let journal = open(&path);
    assert_eq!(journal.append(session(1), vec![rested()]).await, Ok(3));
    assert_eq!(positions(&journal, session(1)).await, [1, 2, 3]);
    assert_eq!(positions(&journal, session(2)).await, [1, 2]);
    let entries = journal.sessions().await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.events).sum::<u64>(), 5);
}

#[tokio::test]
async fn a_file_from_before_there_was_a_vault_gets_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    assert_eq!(open(&path).append(session(1), vec![rested()]).await, Ok(1));
    let older = Connection::open(&path).unwrap();
    older.execute_batch("drop table content; pragma user_version = 2;").unwrap();
    drop(older);
    let journal = open(&path);
    let name = journal.keep(Arc::from(*b"content")).await.unwrap();
    assert_eq!(journal.fetch(&name).await, Ok(Some(Arc::from(*b"content"))));
    assert_eq!(journal.append(session(1), vec![rested()]).await, Ok(2));
    assert_eq!(positions(&journal, session(1)).await, [1, 2]);
}

#[tokio::test]
async fn the_same_content_takes_its_room_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    for _ in 0..3 {
        journal.keep(Arc::from(*b"content")).await.unwrap();
    }
    let rows =
        Connection::open(&path)
            .unwrap()
            .query_row("select count(*) from content", [], |row| row.get::<_, i64>(0));
    assert_eq!(rows, Ok(1));
}

#[tokio::test]
async fn a_file_that_is_not_understood_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let newer = directory.path().join("newer.db");
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let other = directory.path().join("other.db");
    fs::write(&other, "Dear diary, ".repeat(100)).unwrap();
    for (path, why) in [(newer, "version 99"), (other, "not a database")] {
        let before = fs::read(&path).unwrap();
        let journal = open(&path);
        let appended = journal.append(session(1), vec![rested()]).await.map(drop);
        let kept = journal.keep(Arc::from(*b"content")).await.map(drop);
        for result in [appended, kept, journal.sessions().await.map(drop)] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()) && error.contains(why), "{error}");
        }
        drop(journal);
        assert!(fs::read(&path).unwrap() == before, "{} was changed", path.display());
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let journal = open(&file.join("below").join("journal.db"));
    let error = journal.append(session(1), vec![rested()]).await.unwrap_err().to_string();
    assert!(error.contains("file/below/journal.db`: its directory cannot be made"), "{error}");
    drop(journal);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_directory_that_is_made_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("one").join("two");
    assert_eq!(open(&made.join("journal.db")).sessions().await, Ok(vec![]));
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
    for file in fs::read_dir(made).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[tokio::test]
async fn batches_that_wait_are_committed_together() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    journal.append(session(1), vec![rested()]).await.unwrap();
    let before = commits(&path);

    let blocker = Connection::open(&path).unwrap();
    blocker.execute_batch("begin immediate").unwrap();
    let appends: Vec<_> =
        (0..100).map(|number| journal.append(session(number), vec![rested()])).collect();
    blocker.execute_batch("rollback").unwrap();
    assert!(future::join_all(appends).await.iter().all(Result::is_ok));

    // Those the writer had taken when it was stopped, and the rest.
    let commits = commits(&path) - before;
    assert!((1..=2).contains(&commits), "{commits} commits");
}

#[tokio::test]
async fn another_process_that_writes_is_waited_for_where_it_holds_up_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    journal.append(session(1), vec![rested()]).await.unwrap();

    let blocker = Connection::open(&path).unwrap();
    // Also one that has not opened the file yet.
    for (journal, position) in [(journal, 2), (open(&path), 3)] {
        blocker.execute_batch("begin immediate").unwrap();
        let append = journal.append(session(1), vec![rested()]);
        let others = async {
            // The append has been tried by the time this task has its third turn.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            blocker.execute_batch("rollback").unwrap();
        };
        assert_eq!(future::join(append, others).await.0, Ok(position));
    }
}

#[tokio::test]
async fn of_two_writers_of_one_session_the_first_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let bus = Arc::new(LocalBus::default());
    let (first, second) = (open_on(&path, bus.clone()), open(&path));
    assert_eq!(first.append(session(1), vec![rested()]).await, Ok(1));
    assert_eq!(second.append(session(1), vec![rested()]).await, Ok(2));
    let mut sights = bus.watch(session(1), Detail::Kept).sights;
    for _ in 0..2 {
        let error = first.append(session(1), vec![rested()]).await.unwrap_err();
        assert!(error.0.contains("another process"), "{error}");
    }
    assert_eq!(sights.next().now_or_never(), None);
    assert_eq!(positions(&first, session(1)).await, [1, 2]);
    assert_eq!(first.append(session(2), vec![rested()]).await, Ok(1));
}

#[tokio::test]
async fn many_can_open_one_new_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let path = directory.path().join(format!("{round}.db"));
        let journals: Vec<_> = (0..8).map(|_| open(&path)).collect();
        let uses = journals.iter().zip(1..).map(|(journal, number)| {
            future::join(journal.append(session(number), vec![rested()]), journal.sessions())
        });
        for (appended, listed) in future::join_all(uses).await {
            assert_eq!(appended, Ok(1));
            listed.unwrap();
        }
    }
}

#[test]
fn dropping_a_journal_finishes_what_it_was_given() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = open(&path);
    (0..100).for_each(|_| drop(journal.append(session(1), vec![rested()])));
    drop(journal);
    let written =
        Connection::open(&path)
            .unwrap()
            .query_row("select count(*) from event", [], |row| row.get::<_, i64>(0));
    assert_eq!(written, Ok(100));
}
