//! What the process tells its caller when it ends.

use adjutant_core::{Cause, Ending, Outcome};

/// How a command ended, as a number for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// The task was done.
    Completed = 0,
    /// The task failed, or something in the runtime did.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The model could not be reached or would not answer.
    Provider = 3,
    /// The budget was spent.
    Budget = 4,
    /// A permission or an answer was needed and nobody gave one.
    Unattended = 5,
    /// The time was up.
    Timeout = 124,
    /// The run was stopped.
    Cancelled = 130,
}

impl ExitCode {
    /// Returns the code for what came of the root.
    pub fn of(outcome: &Outcome) -> Self {
        match (outcome.ending, outcome.cause) {
            (Ending::Completed, _) => Self::Completed,
            (Ending::BudgetExceeded, _) => Self::Budget,
            (Ending::Timeout, _) => Self::Timeout,
            (Ending::Cancelled, _) => Self::Cancelled,
            (Ending::Failed, Some(Cause::Model)) => Self::Provider,
            (Ending::Failed, Some(Cause::Unattended)) => Self::Unattended,
            (Ending::Failed, Some(Cause::Stuck | Cause::Misfit | Cause::Internal) | None)
            | (Ending::Interrupted, _) => Self::Failed,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_its_code() {
        let short = |ending| Outcome::short(ending, "", "why");
        let failed = |cause| Outcome::failed(cause, "", "why");
        let table = [
            (Outcome::completed("done"), 0),
            (short(Ending::Failed), 1),
            (short(Ending::Interrupted), 1),
            (failed(Cause::Stuck), 1),
            (failed(Cause::Misfit), 1),
            (failed(Cause::Internal), 1),
            (failed(Cause::Model), 3),
            (short(Ending::BudgetExceeded), 4),
            (failed(Cause::Unattended), 5),
            (short(Ending::Timeout), 124),
            (short(Ending::Cancelled), 130),
        ];
        for (outcome, code) in table {
            assert_eq!(ExitCode::of(&outcome) as u8, code, "{outcome:?}");
        }
    }
}
