//! A bus inside one process.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{
    Address, AgentPath, Bus, Command, Detail, Errand, Event, Seq, SessionId, Sight, Undelivered,
    Watch,
};
use futures_util::{
    future::{BoxFuture, Either, FutureExt, select},
    stream::{self, BoxStream, StreamExt},
};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    mpsc,
};

/// How many commands wait for a listener before those who send wait too.
const COMMANDS: usize = 1024;

/// A bus inside one process.
///
pub struct LocalBus {
    ring: NonZeroUsize,
    // One lock for all: it is held for a few pointers' worth of work, and stamping and
    // sending under it makes the order in the ring exact.
    sessions: Mutex<HashMap<SessionId, Channel>>,
}

/// What is known of a session.
#[derive(Default)]
struct Channel {
    last: Seq,
    // There only while someone watches: a ring takes its whole room at once.
    fragments: Option<Ring>,
    kept: Option<Ring>,
    listeners: Vec<Listener>,
}

/// The latest events, for those who want that much detail.
type Ring = broadcast::Sender<Arc<Event>>;

/// Someone who listens, until the other end of the queue is dropped.
struct Listener {
    at: AgentPath,
    queue: mpsc::Sender<Errand>,
}

impl LocalBus {
    /// Makes a bus that holds the latest `ring` events of each watched session, rounded
    /// up to a power of two, for those who are slow.
    pub fn new(ring: NonZeroUsize) -> Self {
        Self { ring, sessions: Mutex::default() }
    }

    fn with<T>(&self, session: SessionId, act: impl FnOnce(&mut Channel) -> T) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        act(sessions.entry(session).or_default())
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        const RING: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
        Self::new(RING)
    }
}

impl Bus for LocalBus {
    fn send(&self, to: Address, command: Command) -> BoxFuture<'static, Result<(), Undelivered>> {
        let queue = self.with(to.session, |channel| channel.nearest(&to.path));
        async move {
            let nobody = || Undelivered::Nobody(to.path.clone());
            let (errand, answer) = Errand::new(to.path.clone(), command);
            let queue = queue.ok_or_else(nobody)?;
            queue.send(errand).await.map_err(|_| nobody())?;
            // What comes in while the listener leaves stays in the queue and is not answered.
            let answer = match select(answer, pin!(queue.closed())).await {
                Either::Left((answer, _)) => answer.ok(),
                Either::Right(_) => None,
            };
            answer.ok_or_else(nobody)?.map_err(Undelivered::Refused)
        }
        .boxed()
    }

    fn listen(&self, at: Address) -> BoxStream<'static, Errand> {
        let (queue, mut commands) = mpsc::channel(COMMANDS);
        let listener = Listener { at: at.path, queue };
        self.with(at.session, |channel| channel.admit(listener));
        stream::poll_fn(move |context| commands.poll_recv(context)).boxed()
    }

    fn publish(&self, session: SessionId, event: Event) {
        self.with(session, |channel| channel.publish(event));
    }

    fn watch(&self, session: SessionId, detail: Detail) -> Watch {
        let (after, events) = self.with(session, |channel| {
            let ring = match detail {
                Detail::Fragments => &mut channel.fragments,
                Detail::Kept => &mut channel.kept,
            };
            let new = || Ring::new(self.ring.get());
            (channel.last, ring.get_or_insert_with(new).subscribe())
        });
        let sights = stream::unfold(events, |mut events| async {
            let sight = match events.recv().await {
                Ok(event) => Sight::Event(event),
                Err(RecvError::Lagged(missed)) => Sight::Missed(missed),
                Err(RecvError::Closed) => return None,
            };
            Some((sight, events))
        });
        Watch { after, sights: sights.boxed() }
    }

    fn wants_fragments(&self, session: SessionId) -> bool {
        self.with(session, |channel| {
            channel.fragments.as_ref().is_some_and(|ring| ring.receiver_count() > 0)
        })
    }
}

impl Channel {
    /// Adds someone who listens and forgets those who no longer do.
    fn admit(&mut self, listener: Listener) {
        self.listeners.retain(|listener| !listener.queue.is_closed());
        self.listeners.push(listener);
    }

    /// Returns the queue of who listens at an agent or nearest above it.
    fn nearest(&self, path: &AgentPath) -> Option<mpsc::Sender<Errand>> {
        let listens =
            |listener: &&Listener| path.is_within(&listener.at) && !listener.queue.is_closed();
        let above = self.listeners.iter().filter(listens);
        above.max_by_key(|listener| listener.at.depth()).map(|listener| listener.queue.clone())
    }

    fn publish(&mut self, mut event: Event) {
        let Self { last, fragments, kept, .. } = self;
        let is_kept = event.kind.is_kept();
        if is_kept {
            *last = event.seq;
        } else {
            event.seq = *last;
        }
        if fragments.is_none() && kept.is_none() {
            return;
        }
        let event = Arc::new(event);
        let rings = [Some(fragments), is_kept.then_some(kept)];
        for ring in rings.into_iter().flatten() {
            // A ring that nobody watches any more is given up.
            ring.take_if(|ring| ring.send(Arc::clone(&event)).is_err());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[tokio::test]
    async fn conforms() {
        conformance::bus(|| Arc::new(LocalBus::default())).await;
    }
}
