//! What an agent has started and must see ended.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::{AgentId, AgentPath, Delivery, Held, State};
use futures_util::{FutureExt as _, future::join_all};
use tokio::time::timeout;

use crate::{clock::Clock, dispatch::message_of, roster::Entry};

/// How many children there are between two times that those who are gone are forgotten.
const SWEEP: usize = 64;

/// Processes and children of one agent.
#[derive(Default)]
pub(crate) struct Custody {
    held: Mutex<Vec<Box<dyn Held>>>,
    family: Mutex<Family>,
}

#[derive(Default)]
struct Family {
    children: Vec<Arc<Entry>>,
    /// Those forgotten that had not completed.
    unfinished: Vec<AgentPath>,
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
        let mut family = self.family();
        if family.children.len() % SWEEP == SWEEP - 1 {
            family.sweep();
        }
        family.children.push(child);
    }

    /// Forgets how a child ended that goes on.
    pub(crate) fn forget(&self, child: AgentId) {
        self.family().children.retain(|other| other.identity.id != child);
    }

    /// Reports whether the agent will still be told of a child's end.
    pub(crate) fn expects_news(&self) -> bool {
        self.family().children.iter().any(is_news)
    }

    /// Stops a clock whenever a child the agent will be told of asks a person, until
    /// dropped.
    pub(crate) async fn stand_still(&self, clock: &Clock) {
        let children = self.family().children.clone();
        let awaited = children.iter().filter(|child| is_news(child));
        join_all(awaited.map(|child| clock.follow(&child.clock))).await;
    }

    /// Returns how many children are at work.
    pub(crate) fn at_work(&self) -> u64 {
        let family = self.family();
        let at_work = family.children.iter().filter(|child| {
            let state = child.state();
            !state.is_final() && state != State::Resting
        });
        at_work.count() as u64
    }

    /// Lets the children go that rest: they have nothing left to do.
    pub(crate) fn dismiss(&self) {
        self.family().children.iter().for_each(|child| child.dismiss());
    }

    /// Ends everything and returns when it is gone. Names what could not be seen to
    /// end in time.
    pub(crate) async fn empty(&self, patience: Duration) -> Vec<String> {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        let ends = join_all(held.into_iter().map(|held| end(held, patience))).await;
        let children = self.family().children.clone();
        for child in children {
            child.ended().await;
        }
        ends.into_iter().flatten().collect()
    }

    /// Returns the children that did not complete.
    pub(crate) fn unfinished(&self) -> Vec<AgentPath> {
        let Family { children, unfinished } = &*self.family();
        let others = children.iter().filter(|child| child.state() != State::Completed);
        let others = others.map(|child| child.identity.path.clone());
        unfinished.iter().cloned().chain(others).collect()
    }

    fn family(&self) -> MutexGuard<'_, Family> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Family {
    /// Forgets the children that are gone and whose result was taken.
    fn sweep(&mut self) {
        let Self { children, unfinished } = self;
        children.retain(|child| {
            let state = child.state();
            let is_gone = state.is_final() && child.is_claimed();
            if is_gone && state != State::Completed {
                unfinished.push(child.identity.path.clone());
            }
            !is_gone
        });
    }
}

fn is_news(child: &Arc<Entry>) -> bool {
    child.delivery == Delivery::Pushed && !child.is_claimed() && !child.is_idle()
}

/// Ends one thing, or tells why it cannot be seen to end.
async fn end(held: Box<dyn Held>, patience: Duration) -> Option<String> {
    let what = held.what();
    // Called inside, so that a panic in the call itself is caught as well.
    let end = AssertUnwindSafe(async { held.end().await }).catch_unwind();
    let why = match timeout(patience, end).await {
        Ok(Ok(Ok(()))) => return None,
        Ok(Ok(Err(why))) => why,
        Ok(Err(panic)) => message_of(&*panic),
        Err(_) => format!("still there after {patience:?}"),
    };
    Some(format!("{what}: {why}"))
}
