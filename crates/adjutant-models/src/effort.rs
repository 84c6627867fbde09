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
}
