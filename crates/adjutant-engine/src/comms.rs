//! Letters to agents that are not below.

use std::sync::Arc;

use adjutant_core::{AgentPath, Comms, Peer, Peers, Refusal, When};
use futures_util::future::BoxFuture;

use crate::{host::CallHost, roster::Entry};

/// What an agent may call its parent.
const PARENT: &str = "parent";

impl Comms for CallHost {
    fn peers(&self) -> Vec<Peer> {
        let peers = self.trusted();
        let peer =
            |entry: &Arc<Entry>| Peer { path: entry.identity.path.clone(), state: entry.state() };
        peers.iter().map(peer).collect()
    }

    fn write<'a>(
        &'a self,
        to: &'a str,
        text: String,
        when: When,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            let trusted = self.trusted();
            let named = |entry: &&Arc<Entry>| {
                let identity = &entry.identity;
                identity.path.as_str() == to
                    || identity.id.to_string() == to
                    || (to == PARENT && self.seat.path().parent().as_ref() == Some(&identity.path))
            };
            let Some(peer) = trusted.iter().find(named) else {
                let known = trusted.iter().map(|entry| entry.identity.path.clone()).collect();
                return Err(Refusal::NoPeer { name: to.to_owned(), known });
            };
            let from = Some(self.seat.path().clone());
            self.seat.shared.mail(peer, from, text, when).await
        })
    }
}

impl CallHost {
    /// Returns those the agent may write to. Siblings trust one another, or neither does.
    fn trusted(&self) -> Vec<Arc<Entry>> {
        let (own, roster) = (&self.seat.entry, &self.seat.shared.roster);
        let Some(parent) = self.seat.path().parent() else { return Vec::new() };
        let is_sibling = |entry: &Arc<Entry>| {
            let path = &entry.identity.path;
            let is_beside = path.parent().as_ref() == Some(&parent) && path != self.seat.path();
            is_beside && entry.peers == Peers::Family && !entry.state().is_final()
        };
        let siblings: Vec<_> = match own.peers {
            Peers::Nobody => return Vec::new(),
            Peers::Parent => Vec::new(),
            Peers::Family => roster.below(&parent).into_iter().filter(is_sibling).collect(),
        };
        roster.find(&parent).into_iter().chain(siblings).collect()
    }
}

/// Tells an agent how to write to others.
pub(crate) fn instructions(path: &AgentPath, peers: Peers) -> Option<String> {
    let parent = path.parent()?;
    let others = match peers {
        Peers::Nobody => return None,
        Peers::Parent => String::new(),
        Peers::Family => " and to the other agents it started, which `peers` lists".to_owned(),
    };
    Some(format!(
        "You are the agent `{path}`. With `send_message` you can write to the agent that started \
         you, `{parent}`{others}. What others write to you is heard between your turns. Your last \
         message goes to `{parent}` by itself."
    ))
}
