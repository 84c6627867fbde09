//! How many tokens of an answer may go into thinking.

use adjutant_core::Effort;

/// The fewest tokens that providers take for thinking, and that are kept for the answer.
const FEWEST: u64 = 1024;

/// Returns how many tokens of an answer may go into thinking, if there is room for any.
pub(crate) fn budget(effort: Effort, max_output: u64) -> Option<u64> {
    let wanted = match effort {
        Effort::Low => 4 * 1024,
        Effort::Medium => 12 * 1024,
        Effort::High => 24 * 1024,
    };
    let room = max_output.checked_sub(FEWEST)?;
    (room >= FEWEST).then_some(room.min(wanted))
}
