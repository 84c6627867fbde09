//! How long a conversation is, in tokens, by estimate.

use std::sync::Arc;

use adjutant_core::{History, Message, Usage};

use crate::seat::Seat;

/// Keeps what the provider reported of the conversation so far, and guesses only
/// what was added since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    known: u64,
    messages: usize,
}

impl Gauge {
    /// Estimates how many tokens the next request has.
    pub(crate) fn estimate(&self, seat: &Seat, history: &History) -> u64 {
        let new = history.messages().get(self.messages..).unwrap_or_default();
        let bytes = new.iter().map(|message| message.size()).sum();
        let fixed = if self.messages == 0 { fixed(seat) } else { 0 };
        self.known + tokens(bytes) + fixed
    }

    /// Notes what the provider reported of a request with that history. Its answer
    /// is about to be added to it.
    pub(crate) fn learn(&mut self, usage: Usage, history: &History) {
        self.known = usage.total();
        self.messages = history.messages().len() + 1;
    }

    /// Notes that the messages were replaced, one by one, by others.
    pub(crate) fn forget(&mut self, history: &History, with: &[Arc<Message>]) {
        let pairs = history.messages().iter().zip(with).take(self.messages);
        let gone = pairs.map(|(old, new)| old.size().saturating_sub(new.size())).sum();
        self.known = self.known.saturating_sub(tokens(gone));
    }
}

/// What every request has besides the conversation.
fn fixed(seat: &Seat) -> u64 {
    let tools = seat.tools.specs.iter().map(|spec| {
        let fields = spec.parameters["properties"].as_object().map_or(0, |fields| fields.len());
        spec.name.len() + spec.description.len() + fields * 80
    });
    tokens(seat.system.len() + tools.sum::<usize>())
}

/// Estimates how many tokens text of that length has: 3.5 bytes each.
pub(crate) fn tokens(bytes: usize) -> u64 {
    (bytes as u64 * 2).div_ceil(7)
}
