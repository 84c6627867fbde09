//! Work that blocks, done where it holds up nobody, and stopped when the call is.

use std::io::{self, Read};

use adjutant_core::ToolError;
use tokio_util::sync::CancellationToken;

/// Does work that blocks.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError(format!("the tool broke: {error}"))))
}

/// Returns an error once the call is to end.
pub(crate) fn check(token: &CancellationToken) -> Result<(), ToolError> {
    if token.is_cancelled() { Err(ToolError("stopped before it was done".into())) } else { Ok(()) }
}

/// A reader that fails once the call is to end.
pub(crate) struct Stoppable<R> {
    pub(crate) reader: R,
    pub(crate) token: CancellationToken,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        check(&self.token).map_err(io::Error::other)?;
        self.reader.read(buffer)
    }
}
