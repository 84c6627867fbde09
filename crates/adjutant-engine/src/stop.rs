//! Why an agent does not go on.

use adjutant_core::{Cause, Ending, Exhausted, JournalError, ModelError, Outcome};

/// Why an agent does not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// Its work was called off: somebody told it to stop, or its time is up.
    #[error("it was stopped")]
    CalledOff,
    #[error("its time was up")]
    OutOfTime,
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    #[error("the model failed: {0}")]
    Model(#[from] ModelError),
    #[error("nobody was there to answer")]
    Unattended,
    #[error("it did the same thing {0} times in a row, with the same results")]
    Stuck(usize),
    #[error("a person stopped it after {0} tool calls")]
    Paused(u64),
    #[error("its answer does not fit the schema: {0}")]
    Misfit(String),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("it panicked: {0}")]
    Panic(String),
}

impl Stop {
    /// Reports whether the agent may say a few last words: a limit was reached, but
    /// nothing is wrong.
    pub(crate) fn allows_last_words(&self) -> bool {
        matches!(self, Self::OutOfTime | Self::Exhausted(_) | Self::Paused(_))
    }

    /// Makes the outcome of an agent that had said `text`.
    pub(crate) fn outcome(&self, text: String) -> Outcome {
        let reason = self.to_string();
        match self {
            Self::CalledOff => Outcome::short(Ending::Cancelled, text, reason),
            Self::OutOfTime => Outcome::short(Ending::Timeout, text, reason),
            Self::Exhausted(_) | Self::Paused(_) => {
                Outcome::short(Ending::BudgetExceeded, text, reason)
            }
            Self::Model(_) => Outcome::failed(Cause::Model, text, reason),
            Self::Unattended => Outcome::failed(Cause::Unattended, text, reason),
            Self::Stuck(_) => Outcome::failed(Cause::Stuck, text, reason),
            Self::Misfit(_) => Outcome::failed(Cause::Misfit, text, reason),
            Self::Journal(_) | Self::Panic(_) => Outcome::failed(Cause::Internal, text, reason),
        }
    }
}
