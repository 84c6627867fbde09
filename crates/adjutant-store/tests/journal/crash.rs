//! Processes that die. Each test runs this very program again as the one that dies.

use std::{
    env, fmt,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command as Process, Stdio},
    sync::Arc,
};

use adjutant_core::{
    Address, Bus, Command, Detail, Digest, Errand, Event, EventKind, FileState, Journal, SessionId,
    Undelivered, Vault, Watch,
};
use adjutant_store::LocalBus;
use futures_util::{future::BoxFuture, stream::BoxStream};
use rusqlite::Connection;

use crate::{open, open_on, positions, rested, session};

/// Tells a process that it is the one that dies, and which file it writes.
const FILE: &str = "CRASH_TEST_FILE";

/// Writes a line at once, whatever the test harness does with printed text.
fn report(what: fmt::Arguments<'_>) {
    io::stderr().write_all(format!("{what}\n").as_bytes()).unwrap();
}

/// A bus that reports what it is given.
struct Reporting(LocalBus);

impl Bus for Reporting {
    fn send(&self, to: Address, command: Command) -> BoxFuture<'static, Result<(), Undelivered>> {
        self.0.send(to, command)
    }

    fn listen(&self, at: Address) -> BoxStream<'static, Errand> {
        self.0.listen(at)
    }

    fn publish(&self, session: SessionId, event: Event) {
        report(format_args!("published {}", event.seq));
        self.0.publish(session, event);
    }

    fn watch(&self, session: SessionId, detail: Detail) -> Watch {
        self.0.watch(session, detail)
    }

    fn wants_fragments(&self, session: SessionId) -> bool {
        self.0.wants_fragments(session)
    }
}

/// Writes until it dies, if it is the one that dies. Otherwise there is nothing to do.
#[tokio::test]
async fn child() {
    let Some(path) = env::var_os(FILE).map(PathBuf::from) else { return };
    let journal = open_on(&path, Arc::new(Reporting(LocalBus::default())));
    for _ in 0..100_000 {
        match journal.append(session(1), vec![rested()]).await {
            Ok(seq) => report(format_args!("acknowledged {seq}")),
            Err(error) => return report(format_args!("failed {error}")),
        }
    }
}

/// Keeps what a file held and records the change, again and again, until it dies.
#[tokio::test]
async fn changing_child() {
    let Some(path) = env::var_os(FILE).map(PathBuf::from) else { return };
    let journal = open(&path);
    for number in 0..100_000_u32 {
        let digest = journal.keep(content(number)).await.unwrap();
        let seq = journal.append(session(1), vec![changed(digest)]).await.unwrap();
        report(format_args!("acknowledged {seq}"));
    }
}

/// What a file held before its `number`th change; some of it is big.
fn content(number: u32) -> Arc<[u8]> {
    let length = if number % 16 == 3 { 300_000 } else { 3 };
    number.to_le_bytes().repeat(length).into()
}

fn changed(digest: Digest) -> Event {
    let before = Some(FileState { digest, bytes: 0, mode: 0o100_644 });
    let (call_id, file) = ("c1".into(), "/a".to_owned());
    Event { kind: EventKind::Changed { call_id, file, before, after: None }, ..rested() }
}

/// Checks that all of what the recorded changes replaced is there, and counts them.
async fn changes(path: &Path) -> u32 {
    let journal = open(path);
    let events = journal.read(session(1), 0, usize::MAX).await.unwrap();
    for (event, number) in events.iter().zip(0..) {
        let EventKind::Changed { before: Some(before), .. } = &event.kind else {
            panic!("{event:?}");
        };
        let kept = journal.fetch(&before.digest).await.unwrap();
        assert!(kept == Some(content(number)), "what change {number} replaced is lost");
    }
    assert_whole(path);
    u32::try_from(events.len()).unwrap()
}

fn start(path: &Path, failpoint: Option<&str>) -> Child {
    start_as("crash::child", path, failpoint)
}

fn start_as(child: &str, path: &Path, failpoint: Option<&str>) -> Child {
    Process::new(env::current_exe().unwrap())
        .args(["--exact", child])
        .env(FILE, path)
        .envs(failpoint.map(|failpoint| ("ADJUTANT_FAILPOINT", failpoint)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a child to its end and returns what it reported.
fn run(path: &Path, failpoint: &str) -> Vec<String> {
    let output = start(path, Some(failpoint)).wait_with_output().unwrap();
    String::from_utf8(output.stderr).unwrap().lines().map(str::to_owned).collect()
}

fn assert_whole(path: &Path) {
    let verdict = Connection::open(path)
        .unwrap()
        .query_row("pragma integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(verdict.unwrap(), "ok");
}

#[tokio::test]
async fn nothing_is_shown_before_it_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let reports = run(&path, "after_commit:3");
    assert_eq!(reports, ["published 1", "acknowledged 1", "published 2", "acknowledged 2"]);
    assert_eq!(positions(&open(&path), session(1)).await, [1, 2, 3]);
    assert_whole(&path);
}

#[tokio::test]
async fn nothing_is_acknowledged_before_it_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let reports = run(&path, "after_publish:2");
    assert_eq!(reports, ["published 1", "acknowledged 1", "published 2"]);
    assert_eq!(positions(&open(&path), session(1)).await, [1, 2]);
    assert_whole(&path);
}

#[tokio::test]
async fn all_that_was_shown_outlives_a_process_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let mut child = start(&path, None);
    let mut reports = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(reports.any(|report| report == "acknowledged 50"));
    child.kill().unwrap();
    child.wait().unwrap();

    let last = reports.last().unwrap_or_else(|| "acknowledged 50".to_owned());
    let shown: u64 = last.rsplit_once(' ').unwrap().1.parse().unwrap();
    let journal = open(&path);
    let kept = positions(&journal, session(1)).await;
    assert!(kept.len() as u64 >= shown, "{shown} were shown, {} are kept", kept.len());
    assert!(kept.iter().copied().eq(1..=kept.len() as u64));
    let next = kept.len() as u64 + 1;
    assert_eq!(journal.append(session(1), vec![rested()]).await, Ok(next));
    assert_whole(&path);
}

#[tokio::test]
async fn what_a_change_replaces_is_there_before_the_change_is() {
    // Each change is two commits: first the content, then the event.
    for commit in 1..=8 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let failpoint = format!("after_commit:{commit}");
        let died = start_as("crash::changing_child", &path, Some(&failpoint)).wait().unwrap();
        assert!(!died.success());
        assert_eq!(changes(&path).await, commit / 2);
        if commit % 2 == 1 {
            let name = Digest::of(&content(commit / 2));
            assert!(open(&path).fetch(&name).await.unwrap().is_some(), "{commit}");
        }
    }
}

#[tokio::test]
async fn what_changes_replaced_outlives_a_process_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let mut child = start_as("crash::changing_child", &path, None);
    let mut reports = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(reports.any(|report| report == "acknowledged 50"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(changes(&path).await >= 50);
}

#[test]
fn a_failpoint_that_is_not_understood_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let reports = run(&directory.path().join("journal.db"), "after_lunch:1");
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].starts_with("failed "), "{reports:?}");
    assert!(reports[0].contains("`ADJUTANT_FAILPOINT=after_lunch:1`"), "{reports:?}");
}
