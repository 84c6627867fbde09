//! What an agent has started and must see ended.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use adjutant_core::{Delivery, Held};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::roster::Entry;

/// Processes and children of one agent.
#[derive(Default)]
pub(crate) struct Custody {
    held: Mutex<Vec<Box<dyn Held>>>,
    children: Mutex<Vec<Arc<Entry>>>,
}

impl Custody {
    /// Takes something into custody.
    pub(crate) fn hold(&self, new: Box<dyn Held>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain_mut(|held| !held.is_over());
        held.push(new);
    }

    /// Takes a child into custody.
    pub(crate) fn adopt(&self, child: Arc<Entry>) {
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }

    /// Returns the children, those that ended included.
    pub(crate) fn children(&self) -> Vec<Arc<Entry>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports whether the agent will still be told of a child's end.
    pub(crate) fn expects_news(&self) -> bool {
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.iter().any(|child| child.delivery == Delivery::Pushed && !child.is_claimed())
    }

    /// Ends everything and returns when it is gone. Names what could not be seen to
    /// end in time.
    pub(crate) async fn empty(&self, patience: Duration) -> Vec<String> {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        let ends = held.into_iter().map(|held| async move {
            let what = held.what();
            match timeout(patience, held.end()).await {
                Ok(Ok(())) => None,
                Ok(Err(why)) => Some(format!("{what}: {why}")),
                Err(_) => Some(format!("{what}: still there after {patience:?}")),
            }
        });
        let uncontained = join_all(ends).await.into_iter().flatten().collect();
        for child in self.children() {
            child.end().await;
        }
        uncontained
    }
}
