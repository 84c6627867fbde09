//! What is on its way into the file.

use std::sync::Arc;

use adjutant_core::{Bus, Digest, Event, JournalError, Seq, SessionId};
use tokio::sync::oneshot;

/// How much of a content weighs as much as an event.
const PAGE: usize = 4096;

/// How long a content may be to be written while a task waits.
const BIG: usize = 256 * 1024;

/// What is on its way into the file.
pub(super) enum Entry {
    Batch(Batch),
    Content(Content),
}

/// Events to be kept together.
pub(super) struct Batch {
    pub(super) session: SessionId,
    pub(super) events: Vec<Event>,
    // The events as JSON, one after the other, and where each ends.
    pub(super) bodies: Vec<u8>,
    pub(super) ends: Vec<usize>,
    pub(super) last: Seq,
    pub(super) reply: oneshot::Sender<Result<Seq, JournalError>>,
}

/// What a file held, to be kept.
pub(super) struct Content {
    pub(super) digest: Digest,
    pub(super) bytes: Arc<[u8]>,
    pub(super) reply: oneshot::Sender<Result<Digest, JournalError>>,
}

impl Batch {
    /// Encodes events.
    pub(super) fn encode(
        session: SessionId,
        mut events: Vec<Event>,
        reply: oneshot::Sender<Result<Seq, JournalError>>,
    ) -> Result<Self, JournalError> {
        let (mut bodies, mut ends) = (Vec::new(), Vec::with_capacity(events.len()));
        for event in &mut events {
            // The position is a column of its own.
            event.seq = 0;
            serde_json::to_writer(&mut bodies, event).map_err(|error| {
                JournalError(format!("an event of `{}` cannot be written: {error}", event.path))
            })?;
            ends.push(bodies.len());
        }
        Ok(Self { session, events, bodies, ends, last: 0, reply })
    }
}

impl Entry {
    /// Returns how much it adds to a commit, in events.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Batch(batch) => batch.events.len(),
            Self::Content(content) => content.bytes.len().div_ceil(PAGE),
        }
    }

    /// Reports whether writing it takes so long that no task should wait for it.
    pub(super) fn is_big(&self) -> bool {
        matches!(self, Self::Content(content) if content.bytes.len() > BIG)
    }

    /// Shows what was committed.
    pub(super) fn show(&mut self, bus: &dyn Bus) {
        if let Self::Batch(batch) = self {
            batch.events.drain(..).for_each(|event| bus.publish(batch.session, event));
        }
    }

    /// Tells whoever waits what became of it.
    pub(super) fn acknowledge(self, written: &Result<(), JournalError>) {
        let written = written.clone();
        match self {
            Self::Batch(batch) => drop(batch.reply.send(written.map(|()| batch.last))),
            Self::Content(content) => drop(content.reply.send(written.map(|()| content.digest))),
        }
    }
}
