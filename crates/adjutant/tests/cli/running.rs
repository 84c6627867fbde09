//! A command at work.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStderr, ChildStdout, Command},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Done, World};

/// No command takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command at work. It does not outlive this, nor this its world.
pub(crate) struct Running<'a> {
    _world: &'a World,
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<BufReader<ChildStderr>>,
    _watchdog: Watchdog,
}

/// Kills a process that hangs, so that whoever waits for it fails instead of waiting.
pub(crate) struct Watchdog(#[expect(dead_code, reason = "its drop is what counts")] Sender<()>);

impl Watchdog {
    pub(crate) fn new(child: &Child) -> Self {
        let (pid, (sender, over)) = (Pid::from_child(child), mpsc::channel());
        thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // It may have ended just now.
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self(sender)
    }
}

impl<'a> Running<'a> {
    pub(crate) fn new(world: &'a World, mut command: Command, stdin: &[u8]) -> Self {
        let mut child = command.spawn().unwrap();
        let watchdog = Watchdog::new(&child);
        // A command that does not read its stdin may be gone by now.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = child.stderr.take().map(BufReader::new);
        Self { _world: world, child, stdout, stderr, _watchdog: watchdog }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads stdout up to a line that contains some words, and returns what was read.
    pub(crate) fn read_until(&mut self, words: &str) -> String {
        read_until(self.stdout.as_mut().unwrap(), words)
    }

    /// Does the same with stderr.
    pub(crate) fn hear_until(&mut self, words: &str) -> String {
        read_until(self.stderr.as_mut().unwrap(), words)
    }

    /// Reads no more of stdout, as `head` does.
    pub(crate) fn stop_reading(&mut self) {
        self.stdout = None;
    }

    /// Reads no more of stderr.
    pub(crate) fn stop_hearing(&mut self) {
        self.stderr = None;
    }

    /// Waits for the end, and returns what was not read yet.
    pub(crate) fn finish(mut self) -> Done {
        let Self { child, stdout, stderr, .. } = &mut self;
        let (stdout, stderr) = thread::scope(|scope| {
            let stderr = scope.spawn(|| read_all(stderr));
            (read_all(stdout), stderr.join().unwrap())
        });
        Done { code: child.wait().unwrap().code(), stdout, stderr }
    }

    /// Waits for the end and returns the code. Reads nothing.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It has usually ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_until(from: &mut impl BufRead, words: &str) -> String {
    let mut read = String::new();
    loop {
        let start = read.len();
        let is_over = from.read_line(&mut read).unwrap() == 0;
        assert!(!is_over, "there is no line with “{words}”:\n{read}");
        if read[start..].contains(words) {
            return read;
        }
    }
}

fn read_all(from: &mut Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(from) = from {
        from.read_to_string(&mut text).unwrap();
    }
    text
}
