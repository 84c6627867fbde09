//! What the command says when it cannot go on.

use std::{
    fmt,
    io::{self, Write},
};

use adjutant_surfaces::sanitize::visible;

use crate::ExitCode;

/// An error for the person at the terminal: one clear line, and hints.
#[derive(Debug)]
pub struct CliError {
    kind: Kind,
    message: String,
    hints: Vec<String>,
}

/// Whose fault an error is. Decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line is wrong.
    Usage,
    /// The configuration is wrong.
    Config,
    /// The model's provider failed.
    Provider,
    /// The runtime or the machine failed.
    Internal,
    /// Whoever read the output went away, and knows it.
    BrokenPipe,
}

impl CliError {
    /// Makes an error without hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// Adds a line that says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says what it is about.
    pub(crate) fn before(mut self, words: &str) -> Self {
        self.message.insert_str(0, words);
        self
    }

    /// Returns the code the process ends with.
    pub fn code(&self) -> ExitCode {
        match self.kind {
            Kind::Usage | Kind::Config => ExitCode::Usage,
            Kind::Provider => ExitCode::Provider,
            Kind::Internal => ExitCode::Failed,
            Kind::BrokenPipe => ExitCode::Completed,
        }
    }

    /// Writes the error for people, with nothing in it that a terminal would obey.
    pub fn report(&self, to: &mut dyn Write) -> io::Result<()> {
        match self.kind {
            Kind::BrokenPipe => Ok(()),
            Kind::Usage | Kind::Config | Kind::Provider | Kind::Internal => {
                writeln!(to, "{}", visible(&self.to_string()))
            }
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for CliError {}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let is_broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        let kind = if is_broken_pipe { Kind::BrokenPipe } else { Kind::Internal };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_decides_the_code() {
        let table = [
            (Kind::Usage, 2),
            (Kind::Config, 2),
            (Kind::Provider, 3),
            (Kind::Internal, 1),
            (Kind::BrokenPipe, 0),
        ];
        for (kind, code) in table {
            assert_eq!(CliError::new(kind, "no").code() as u8, code, "{kind:?}");
        }
    }

    #[test]
    fn a_broken_pipe_is_not_worth_a_word() {
        let mut written = Vec::new();
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        error.report(&mut written).unwrap();
        assert!(written.is_empty());
    }

    #[test]
    fn a_terminal_does_not_obey_an_error() {
        let mut written = Vec::new();
        let error = CliError::new(Kind::Config, "a\u{1b}]0;b\u{7}").hint("c\u{202e}d");
        error.report(&mut written).unwrap();
        let expected = "error: a\\u{1b}]0;b\\u{7}\nhint: c\\u{202e}d\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn hints_follow_the_message() {
        let mut written = Vec::new();
        let error = CliError::new(Kind::Usage, "no").hint("do this").hint("or that");
        error.report(&mut written).unwrap();
        assert_eq!(written, b"error: no\nhint: do this\nhint: or that\n");
    }
}
