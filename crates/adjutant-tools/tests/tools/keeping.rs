//! Processes that try to get away.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use adjutant_core::Held;
use adjutant_tools::keeper::{Keeper, KeptProcess};

/// Long enough for a slow machine; only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that leaves its session, its group and its parent, twice, and holds a named
/// pipe open all over.
const ESCAPE: &str = "exec 9>alive; \
    setsid sh -c '(sleep 1000 & setsid sleep 1000 & echo away >&9) & sleep 1000' & sleep 1000";

struct Watched {
    lines: mpsc::Receiver<String>,
    directory: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(File::open(pipe).unwrap()).lines() {
                send.send(line.unwrap()).unwrap();
            }
        });
        Self { lines, directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn start(&self, script: &str) -> KeptProcess {
        let keeper = Keeper { program: env!("CARGO_BIN_EXE_keeper").into(), arguments: vec![] };
        let command = ["sh", "-c", script].map(OsString::from);
        keeper.start(&command, self.path()).unwrap()
    }

    /// Waits until the command has got everything started.
    fn wait_until_away(&self) {
        assert_eq!(self.lines.recv_timeout(PATIENCE).unwrap(), "away");
        assert!(self.alive() > 3);
    }

    /// Waits until nobody holds the pipe any more.
    fn wait_until_gone(&self) {
        assert_eq!(self.lines.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    /// Counts the processes that work in the directory.
    fn alive(&self) -> usize {
        let place = self.path().canonicalize().unwrap();
        let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let workplaces = processes.filter_map(|process| fs::read_link(process.join("cwd")).ok());
        workplaces.filter(|workplace| *workplace == place).count()
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_its_session_is_gone_after_the_end() {
    let watched = Watched::new();
    let mut kept = watched.start(ESCAPE);
    watched.wait_until_away();
    assert!(!kept.is_over());
    assert!(kept.what().starts_with("sh -c exec 9>alive"));
    tokio::time::timeout(PATIENCE, Box::new(kept).end()).await.unwrap().unwrap();
    assert_eq!(watched.alive(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_its_session_is_gone_when_nobody_holds_it_any_more() {
    let watched = Watched::new();
    let kept = watched.start(ESCAPE);
    watched.wait_until_away();
    drop(kept);
    watched.wait_until_gone();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_has_left_its_session_is_gone_when_the_command_ends_by_itself() {
    let watched = Watched::new();
    let script = "exec 9>alive; setsid sh -c 'sleep 1000 & exec sleep 1000' & exit 3";
    let kept = watched.start(script);
    watched.wait_until_gone();
    tokio::time::timeout(PATIENCE, Box::new(kept).end()).await.unwrap().unwrap();
    assert_eq!(watched.alive(), 0);
}

#[tokio::test]
async fn a_command_that_reads_nothing_it_is_given_ends_all_the_same() {
    let watched = Watched::new();
    let mut kept = watched.start("exec 9>alive; echo away >&9; sleep 1000");
    // More than the command's pipe takes, and less than all pipes on the way.
    kept.input.as_mut().unwrap().write(&[0; 100_000]).await.unwrap();
    tokio::time::timeout(PATIENCE, Box::new(kept).end()).await.unwrap().unwrap();
    assert_eq!(watched.alive(), 0);
}

#[tokio::test]
async fn a_keeper_that_was_killed_confirms_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let keeper = Keeper { program: "sh".into(), arguments: vec!["-c".into(), "kill -9 $$".into()] };
    let kept = keeper.start(&["work".into()], directory.path()).unwrap();
    let error = tokio::time::timeout(PATIENCE, Box::new(kept).end()).await.unwrap().unwrap_err();
    assert!(error.contains("the keeper of `work` was killed"), "{error}");
}

#[test]
fn exit_codes_and_output_pass_through() {
    let cases = [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)];
    for (script, expected) in cases {
        let keeper = Command::new(env!("CARGO_BIN_EXE_keeper"))
            .args(["sh", "-c", &format!("echo said; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut keeper = keeper.unwrap();
        let mut said = String::new();
        keeper.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        // `wait` would close the pipe at once, and the command with it.
        let pipe = keeper.stdin.take();
        assert_eq!(keeper.wait().unwrap().code(), Some(expected), "{script}");
        assert_eq!(said, "said\n");
        drop(pipe);
    }
}

#[test]
fn a_command_that_is_not_there_is_an_error() {
    for command in [&["no-such-program"][..], &[]] {
        let mut keeper = Command::new(env!("CARGO_BIN_EXE_keeper"));
        let output = keeper.args(command).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(command.first().unwrap_or(&"no command")), "{error}");
    }
}
