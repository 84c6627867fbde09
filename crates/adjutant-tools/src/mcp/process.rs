//! A server that runs on this machine, under a keeper: nothing it starts outlives it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{RoleClient, transport::async_rw::AsyncRwTransport};
use tokio::{
    io::{AsyncReadExt as _, DuplexStream, duplex},
    net::unix::pipe::Receiver,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{Environment, trouble::shortened};
use crate::{
    keeper::{KeptInput, KeptProcess},
    pipe::{hear_out, pipe},
};

/// The longest message a server may write. What is longer is dropped.
const LONGEST_LINE: usize = 16 << 20;
/// How much of what a server writes besides is kept.
const TAIL: usize = 2000;
/// How long a server may take to go when its input ends.
const GRACE: Duration = Duration::from_secs(1);
/// What a program needs to run at all. There is no key among them.
const NEEDED: [&str; 7] = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL", "TERM"];

/// A server's process, until somebody ends it.
pub(crate) struct Process {
    ending: CancellationToken,
    tended: JoinHandle<Result<(), String>>,
    complaints: JoinHandle<()>,
    tail: Arc<Mutex<Vec<u8>>>,
}

/// The way to a process.
pub(crate) type Pipes = AsyncRwTransport<RoleClient, Receiver, DuplexStream>;

impl Process {
    /// Starts a program, to be called by a name that is fit to be shown, and returns it with the
    /// way to it.
    pub(crate) fn start(
        name: String,
        command: &[OsString],
        env: &BTreeMap<String, String>,
        directory: &Path,
        around: &Environment,
    ) -> io::Result<(Self, Pipes)> {
        around.seals.check().map_err(io::Error::other)?;
        let ((output, stdout), (errors, stderr)) = (pipe()?, pipe()?);
        let needed = NEEDED.iter().filter_map(|name| around.variables.get_key_value(*name));
        let mut kept = around.keeper.start_with(command, directory, |keeper| {
            keeper.env_clear().envs(needed).envs(env).stdout(stdout).stderr(stderr);
        })?;
        kept.rename(name);
        let input = kept.input.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (mine, theirs) = duplex(64 << 10);
        let (ending, tail) = (CancellationToken::new(), Arc::default());
        let tended = tokio::spawn(tend(kept, input, theirs, ending.clone()));
        let complaints = tokio::spawn(listen(errors, Arc::clone(&tail)));
        let pipes = AsyncRwTransport::new(output, mine).with_max_line_length(LONGEST_LINE);
        Ok((Self { ending, tended, complaints, tail }, pipes))
    }

    /// Ends the process and all it started, or tells why that cannot be seen.
    pub(crate) async fn end(&mut self) -> Result<(), String> {
        self.ending.cancel();
        (&mut self.tended).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Ends the process and tells what went wrong, with what the process said last besides
    /// what it was to say.
    pub(crate) async fn last_words_after(mut self, why: &str) -> String {
        let _ = self.end().await;
        // Whatever holds the other end of the pipe now was not the keeper's to end.
        let _ = timeout(GRACE, &mut self.complaints).await;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        match shortened(String::from_utf8_lossy(&tail).trim()) {
            words if words.is_empty() => why.to_owned(),
            words => format!("{why}; it said: {words}"),
        }
    }
}

/// Passes on what is said to a process, and sees the process gone when that ends.
async fn tend(
    mut kept: KeptProcess,
    mut input: KeptInput,
    mut said: DuplexStream,
    ending: CancellationToken,
) -> Result<(), String> {
    let pass_on = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = said.read(&mut buffer).await {
            if input.write(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = pass_on => {}
        () = ending.cancelled() => {}
    }
    let leave = async {
        let _ = input.close().await;
        kept.wait().await
    };
    let _ = timeout(GRACE, leave).await;
    drop(input);
    kept.wait().await.map(drop)
}

/// Keeps the last of what a process complains of.
async fn listen(errors: Receiver, tail: Arc<Mutex<Vec<u8>>>) {
    let keep = |piece: &[u8]| {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(piece);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    };
    hear_out(errors, keep).await;
}
