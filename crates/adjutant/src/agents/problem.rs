//! What is wrong with a file, where, and what would be right.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Something a person should know of an agent's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) severity: Severity,
    pub(crate) file: PathBuf,
    /// The first is 1; `None` is the file as a whole.
    pub(crate) line: Option<usize>,
    /// What it is, as a sentence without its first capital and its full stop.
    pub(crate) message: String,
    /// What would be right.
    pub(crate) hint: Option<String>,
}

/// What becomes of a file that has a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// It holds, and is probably not what was meant.
    Warning,
    /// It holds, but for what is dropped.
    Dropped,
    /// It is refused.
    Error,
}

impl Severity {
    /// Returns the word for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Dropped => "dropped",
            Self::Error => "error",
        }
    }
}

impl Problem {
    /// Makes a problem of a file as a whole.
    pub(crate) fn of(severity: Severity, file: &Path, message: impl Into<String>) -> Self {
        let (file, message) = (file.to_owned(), message.into());
        Self { severity, file, line: None, message, hint: None }
    }

    /// Says where it is.
    pub(crate) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Says what would be right.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// `FILE:LINE: severity: message`, as compilers write it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, file, line, message, .. } = self;
        write!(f, "{}", file.display().to_string().escape_debug())?;
        if let Some(line) = line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {message}", severity.name())
    }
}
