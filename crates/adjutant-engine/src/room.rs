//! Makes room for an agent's last turn, so that what it found is not lost with it.

use adjutant_core::{EventKind, Measure};

use crate::{agent::Agent, stop::Stop};

/// How long results may be, step by step.
const STEPS: [usize; 4] = [8 * 1024, 2 * 1024, 512, 128];
/// The most tokens there should be for the last words.
const WORDS: u64 = 1024;

impl Agent {
    /// Cuts long results in the conversation, no further than the last turn needs.
    pub(crate) async fn make_room(&mut self) -> Result<(), Stop> {
        let Some(left) = self.seat.entry.purse.left(Measure::Tokens) else { return Ok(()) };
        for longest in STEPS {
            let input = self.gauge.estimate(&self.seat, &self.history);
            if input + WORDS.min(left / 4) <= left {
                break;
            }
            let with = self.history.with_short_results(longest);
            let upto = with.len();
            let compacted = EventKind::Compacted { upto, with: with.clone() };
            self.seat.record(vec![compacted]).await?;
            self.gauge.forget(&self.history, &with);
            self.history.compact(upto, &with);
        }
        Ok(())
    }
}
