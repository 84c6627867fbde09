//! How a command ended.

use std::{fmt, time::Duration};

use rustix::process::Signal;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Exited(i32),
    /// It took longer than this.
    TimedOut(Duration),
    /// It was stopped.
    Stopped,
    /// Nobody knows whether it did, for this reason.
    Lost(String),
}

impl End {
    /// Returns the code, unless it was killed.
    pub(crate) fn code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(*code),
            Self::TimedOut(_) | Self::Stopped | Self::Lost(_) => None,
        }
    }

    /// Returns why it cannot be said that everything is gone.
    pub(crate) fn trouble(&self) -> Option<&str> {
        match self {
            Self::Lost(why) => Some(why),
            Self::Exited(_) | Self::TimedOut(_) | Self::Stopped => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => {
                write!(f, "exit code {code}")?;
                let signal = name(*code).map(|name| (code - 128, name));
                // A program may say the same by itself.
                signal.map_or(Ok(()), |(number, name)| write!(f, " (128+{number}: likely {name})"))
            }
            Self::TimedOut(limit) => {
                write!(
                    f,
                    "timed out after {} s and was killed, with all it started",
                    limit.as_secs()
                )
            }
            Self::Stopped => f.write_str("was stopped, with all it started"),
            Self::Lost(why) => write!(f, "lost: {why}"),
        }
    }
}

/// Returns the signal a code may stand for. Shells and the sandbox report one as a code.
fn name(code: i32) -> Option<&'static str> {
    const NAMES: [(Signal, &str); 16] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    NAMES.iter().find(|(signal, _)| 128 + signal.as_raw() == code).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_stands_for_a_signal_has_its_name() {
        let cases = [(0, "exit code 0"), (1, "exit code 1"), (128, "exit code 128")];
        let signals = [
            (137, "exit code 137 (128+9: likely SIGKILL)"),
            (139, "exit code 139 (128+11: likely SIGSEGV)"),
            (143, "exit code 143 (128+15: likely SIGTERM)"),
            (159, "exit code 159 (128+31: likely SIGSYS)"),
            (255, "exit code 255"),
        ];
        for (code, expected) in cases.into_iter().chain(signals) {
            assert_eq!(End::Exited(code).to_string(), expected);
        }
    }
}
