//! Makes room for an agent's last turn, so that what it found is not lost with it.

use std::sync::Arc;

use adjutant_core::{EventKind, Measure, Message};

use crate::{agent::Agent, stop::Stop};

/// How long results may be, step by step.
const STEPS: [usize; 4] = [8 * 1024, 2 * 1024, 512, 128];
/// The most tokens there should be for the last words.
const WORDS: u64 = 1024;

impl Agent {
    /// Cuts long results in the conversation, no further than the last turn needs.
    pub(crate) async fn make_room(&mut self) -> Result<(), Stop> {
        let Some(with) = self.shortened() else { return Ok(()) };
        let upto = with.len();
        let compacted = EventKind::Compacted { upto, with: with.clone() };
        self.seat.record(vec![compacted]).await?;
        self.gauge.forget(&self.history, &with);
        self.history.compact(upto, &with);
        Ok(())
    }

    /// Returns the conversation as short as it has to be, or as it can be; nothing if it may
    /// stay as it is, or cannot be shorter.
    fn shortened(&self) -> Option<Vec<Arc<Message>>> {
        let left = self.seat.entry.purse.left(Measure::Tokens)?;
        let room = left - WORDS.min(left / 4);
        let mut shorter = None;
        let mut input = self.gauge.estimate(&self.seat, &self.history);
        for longest in STEPS {
            if input <= room {
                break;
            }
            let with = self.history.with_short_results(longest);
            let mut gauge = self.gauge;
            gauge.forget(&self.history, &with);
            let mut history = self.history.clone();
            history.compact(with.len(), &with);
            let estimate = gauge.estimate(&self.seat, &history);
            if estimate < input {
                (input, shorter) = (estimate, Some(with));
            }
        }
        shorter
    }
}
