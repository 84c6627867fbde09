//! The port to what files held before they were changed.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{Digest, JournalError};

/// Keeps contents by name. What is the same is kept once.
pub trait Vault: Send + Sync {
    /// Keeps a content. When this returns it is there after a crash, as the journal is.
    fn keep(&self, content: Arc<[u8]>) -> BoxFuture<'static, Result<Digest, JournalError>>;

    /// Returns a content, if it is kept.
    fn fetch(&self, digest: &Digest)
    -> BoxFuture<'static, Result<Option<Arc<[u8]>>, JournalError>>;
}
