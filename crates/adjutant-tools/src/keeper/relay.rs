//! What an agent tells a keeper.
//!
//! The pipe carries frames: the length of some input in four bytes, the greatest first, and
//! the input. One without any closes the command's own. That is all, since the end of the
//! pipe says the rest: end the command.

use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    process::ChildStdin,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::retry_on_intr,
};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// As much as a pipe with any room takes without making the writer wait.
const PIECE: usize = 512;

/// Writes a frame. Without any bytes it closes the command's input.
pub(super) async fn send(pipe: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    pipe.write_all(&length.to_be_bytes()).await?;
    pipe.write_all(bytes).await
}

/// Passes input on to a command and returns when the agent is gone, if the command reads
/// nothing too.
pub(super) fn pass_on(mut agent: impl Read + AsFd, command: ChildStdin) -> io::Result<()> {
    let mut command = Some(command);
    loop {
        let mut length = [0; 4];
        agent.read_exact(&mut length)?;
        let mut left = u32::from_be_bytes(length) as usize;
        if left == 0 {
            command = None;
        }
        while left > 0 {
            let mut piece = [0; PIECE];
            let piece = &mut piece[..left.min(PIECE)];
            agent.read_exact(piece)?;
            left -= piece.len();
            if let Some(pipe) = &mut command {
                wait_for_room(&agent, pipe)?;
                // One that has closed its input wants no more.
                if pipe.write_all(piece).is_err() {
                    command = None;
                }
            }
        }
    }
}

/// Waits until the command can be given more. Fails when the agent is gone, whose going is
/// reported whether or not it is asked for.
fn wait_for_room(agent: &impl AsFd, command: &ChildStdin) -> io::Result<()> {
    loop {
        let gone = PollFd::new(agent, PollFlags::empty());
        let room = PollFd::new(command, PollFlags::OUT);
        let mut both = [gone, room];
        retry_on_intr(|| poll(&mut both, None))?;
        let [gone, room] = both;
        if !gone.revents().is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !room.revents().is_empty() {
            return Ok(());
        }
    }
}
