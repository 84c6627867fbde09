//! Places among those at work.

use std::sync::Arc;

use adjutant_core::Refusal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::session::Shared;

/// An agent's places among those at work, given back by drop.
#[derive(Default)]
pub(crate) struct Places {
    _held: Vec<OwnedSemaphorePermit>,
}

impl Places {
    /// Takes a place among a parent's children and one in the tree, if there are any left.
    pub(crate) fn take(shared: &Shared, family: &Arc<Semaphore>) -> Result<Self, Refusal> {
        let family = Arc::clone(family).try_acquire_owned();
        let limit = shared.settings.max_children_per_agent;
        let family = family.map_err(|_| Refusal::TooManyChildren { limit })?;
        let tree = Arc::clone(&shared.agents).try_acquire_owned();
        let limit = shared.settings.max_concurrent_agents;
        let tree = tree.map_err(|_| Refusal::TreeFull { limit })?;
        Ok(Self { _held: vec![family, tree] })
    }

    /// Waits for the same.
    pub(crate) async fn wait(shared: &Shared, family: &Arc<Semaphore>) -> Self {
        // The semaphores are never closed.
        let family = Arc::clone(family).acquire_owned().await;
        let tree = Arc::clone(&shared.agents).acquire_owned().await;
        Self { _held: family.into_iter().chain(tree).collect() }
    }
}
