//! A vault for as long as the process lives.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{Digest, JournalError, Vault};
use futures_util::future::{self, BoxFuture, FutureExt};

/// A vault that is gone when it is dropped.
#[derive(Default)]
pub struct MemoryVault(Mutex<HashMap<Digest, Arc<[u8]>>>);

impl Vault for MemoryVault {
    fn keep(&self, content: Arc<[u8]>) -> BoxFuture<'static, Result<Digest, JournalError>> {
        let digest = Digest::of(&content);
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contents.insert(digest.clone(), content);
        future::ready(Ok(digest)).boxed()
    }

    fn fetch(
        &self,
        digest: &Digest,
    ) -> BoxFuture<'static, Result<Option<Arc<[u8]>>, JournalError>> {
        let contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        future::ready(Ok(contents.get(digest).cloned())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[tokio::test]
    async fn conforms() {
        conformance::vault(|| Arc::new(MemoryVault::default())).await;
    }
}
