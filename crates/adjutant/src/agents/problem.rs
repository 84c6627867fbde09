//! What is wrong with a file, where, and what would be right.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use adjutant_surfaces::sanitize::visible;

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

    /// Makes the problem of what is in a project and leads out of it.
    pub(crate) fn leads_out(path: &Path) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self::of(Severity::Error, path, format!("leads out of the project, to {}", real.display()))
    }

    /// Says where it is.
    pub(crate) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Returns it as a warning says it, in one line.
    pub(crate) fn aside(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let word = if self.severity == Severity::Dropped { "dropped: " } else { "" };
        format!("{}: {word}{}{hint}", self.place(), self.message)
    }

    /// Returns `FILE:LINE`.
    pub(crate) fn place(&self) -> String {
        let file = visible(&self.file.display().to_string());
        self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
    }

    /// Says what would be right.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// `FILE:LINE: severity: message`, as compilers write it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place(), self.severity.name(), visible(&self.message))
    }
}
