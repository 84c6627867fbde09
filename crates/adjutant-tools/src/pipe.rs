//! Pipes out of processes.

use std::io::{self, PipeWriter};

use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};

/// Makes a pipe for what a process says.
pub(crate) fn pipe() -> io::Result<(Receiver, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer))
}

/// Hears a process out, so that it never waits for anybody to listen.
pub(crate) async fn hear_out(mut process: Receiver, mut hear: impl FnMut(&[u8])) {
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = process.read(&mut piece).await {
        hear(&piece[..length]);
    }
}
