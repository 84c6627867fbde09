//! How much a model is to think before it answers.

/// How much a model is to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A little.
    Low,
    /// As much as most tasks need.
    Medium,
    /// As much as it can.
    High,
}

impl Effort {
    /// Every effort, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("low", Self::Low), ("medium", Self::Medium), ("high", Self::High)];

    /// Returns its name, which is what providers call it too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Returns how many tokens of an answer may go into thinking, if there is room for any.
    pub(crate) fn budget(self, max_output: u64) -> Option<u64> {
        let wanted = match self {
            Self::Low => 4 * 1024,
            Self::Medium => 12 * 1024,
            Self::High => 24 * 1024,
        };
        let room = max_output.checked_sub(Self::FEWEST)?;
        (room >= Self::FEWEST).then_some(room.min(wanted))
    }

    /// The fewest tokens that providers take for thinking, and that are kept for the answer.
    const FEWEST: u64 = 1024;
}
