//! Processes that die. Each test runs this very program again as the one that dies.

use std::{
    env, fmt,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command as Process, Stdio},
    sync::Arc,
};

use adjutant_core::{
    Address, Bus, Command, Detail, Errand, Event, Journal, SessionId, Undelivered, Watch,
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

fn start(path: &Path, failpoint: Option<&str>) -> Child {
    Process::new(env::current_exe().unwrap())
        .args(["--exact", "crash::child"])
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

#[test]
fn a_failpoint_that_is_not_understood_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let reports = run(&directory.path().join("journal.db"), "after_lunch:1");
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].starts_with("failed "), "{reports:?}");
    assert!(reports[0].contains("`ADJUTANT_FAILPOINT=after_lunch:1`"), "{reports:?}");
}
