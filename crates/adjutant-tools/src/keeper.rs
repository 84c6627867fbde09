//! Processes that cannot get away.
//!
//! ```text
//!  agent ──stdin pipe──▶ keeper ──▶ command ──▶ whatever it starts
//! ```
//!
//! A command is not run by the agent itself but by a *keeper*, the same program started
//! again. On Linux the keeper is a subreaper: a process that loses its parent falls to the
//! keeper and not to init, whatever sessions and groups it made for itself. When the command
//! ends, or when the agent closes the pipe or dies, the keeper kills what is left and goes
//! last. So when the keeper has gone by itself, everything has. On other systems it kills
//! the command's process group, which a process can leave.
//!
//! The pipe also carries the command's input (`relay`).
//!
//! The keeper is not killed with its parent by the kernel (`PR_SET_PDEATHSIG`): then nobody
//! would be left to clear up. It sees the pipe close instead.

mod descent;
mod relay;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
};

use adjutant_core::Held;
use futures_util::future::BoxFuture;
use rustix::{
    io::{Errno, retry_on_intr},
    process::{Pid, WaitOptions, WaitStatus, setsid, wait},
};
use tokio::process::{Child, ChildStdin};

/// How to start a keeper.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// A program that calls [`keep`].
    pub program: PathBuf,
    /// What it wants to be told before the command.
    pub arguments: Vec<OsString>,
}

impl Keeper {
    /// Starts a command in a directory. Its output goes nowhere.
    pub fn start(&self, command: &[OsString], workdir: &Path) -> io::Result<KeptProcess> {
        self.start_with(command, workdir, |keeper| {
            keeper.stdout(Stdio::null()).stderr(Stdio::null());
        })
    }

    /// Starts a command in a directory. The keeper is prepared as the command shall be: both
    /// have the same environment, standard output and error.
    pub fn start_with(
        &self,
        command: &[OsString],
        workdir: &Path,
        prepare: impl FnOnce(&mut tokio::process::Command),
    ) -> io::Result<KeptProcess> {
        let mut keeper = tokio::process::Command::new(&self.program);
        keeper.args(&self.arguments).args(command).current_dir(workdir).stdin(Stdio::piped());
        prepare(&mut keeper);
        let mut keeper = keeper.spawn()?;
        let input = keeper.stdin.take().map(KeptInput);
        let what = command.join(OsStr::new(" ")).to_string_lossy().into_owned();
        Ok(KeptProcess { what, keeper, input })
    }
}

/// A command and everything it starts. Ends when this is dropped; [`Held::end`] also waits
/// until nothing is left.
pub struct KeptProcess {
    what: String,
    keeper: Child,
    /// What the command reads, until somebody takes it.
    pub input: Option<KeptInput>,
}

impl KeptProcess {
    /// Calls it by another name than all it was started with, where that is not for everybody.
    pub fn rename(&mut self, what: String) {
        self.what = what;
    }

    /// Waits until nothing is left and returns the exit code, or tells why nobody knows
    /// whether something is. Closes the input, as far as it was not taken.
    pub async fn wait(&mut self) -> Result<i32, String> {
        drop(self.input.take());
        let Self { what, keeper, .. } = self;
        let status = keeper.wait().await;
        let status = status.map_err(|error| format!("the keeper of `{what}` is lost: {error}"))?;
        status.code().ok_or_else(|| {
            format!(
                "the keeper of `{what}` was killed ({status}), so what it ran may still be there"
            )
        })
    }
}

/// What a command reads. When this is dropped, the command is ended.
pub struct KeptInput(ChildStdin);

impl KeptInput {
    /// Gives the command something to read. Returns before it has read it, but waits while
    /// there is no room.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Nothing at all would be the end.
        if bytes.is_empty() { Ok(()) } else { relay::send(&mut self.0, bytes).await }
    }

    /// Tells the command that nothing more will come.
    pub async fn close(&mut self) -> io::Result<()> {
        relay::send(&mut self.0, &[]).await
    }
}

impl Held for KeptProcess {
    fn what(&self) -> String {
        self.what.clone()
    }

    // A keeper that was killed could not clear up, so nothing is over.
    fn is_over(&mut self) -> bool {
        matches!(self.keeper.try_wait(), Ok(Some(status)) if status.code().is_some())
    }

    fn end(mut self: Box<Self>) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move { self.wait().await.map(drop) })
    }
}

/// Runs a command as its keeper and returns its exit code, or 128 and the signal that ended
/// it. Returns when the command and all its descendants are gone; they are killed when the
/// command ends or standard input does. The process must have no other children.
pub fn keep(command: &[OsString]) -> io::Result<ExitCode> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command to run"));
    };
    // Away from the agent's terminal: Ctrl-C there is for the agent, which ends its commands
    // itself, and a command that asks there would wait for ever. Who leads a group cannot leave.
    let _ = setsid();
    descent::gather()?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))?;
    let (child, input) = (Pid::from_child(&child), child.stdin.take());
    thread::spawn(move || {
        // However it fails, nobody is there any more who could want the command to go on.
        let _ = input.map(|input| relay::pass_on(io::stdin().lock(), input));
        descent::kill(child);
    });
    let status = wait_for(child)?;
    loop {
        descent::kill(child);
        match retry_on_intr(|| wait(WaitOptions::empty())) {
            Ok(_) => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
            Err(Errno::CHILD) => return Ok(exit_code(status)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for the command. Orphans that fell to the keeper are buried on the way.
fn wait_for(command: Pid) -> io::Result<WaitStatus> {
    loop {
        match retry_on_intr(|| wait(WaitOptions::empty()))? {
            Some((pid, status)) if pid == command => return Ok(status),
            _ => {}
        }
    }
}

fn exit_code(status: WaitStatus) -> ExitCode {
    let signal = || status.terminating_signal().map_or(1, |signal| 128 + signal);
    let code = status.exit_status().unwrap_or_else(signal);
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_over_after(script: &str) -> bool {
        let keeper = Keeper { program: "sh".into(), arguments: vec!["-c".into(), script.into()] };
        let mut kept = keeper.start(&[], Path::new("/")).unwrap();
        kept.keeper.wait().await.unwrap();
        kept.is_over()
    }

    #[tokio::test]
    async fn nothing_is_over_when_the_keeper_was_killed() {
        assert!(is_over_after("exit 3").await);
        assert!(!is_over_after("kill -9 $$").await);
    }
}
