//! A list that does not grow without bound and does not hide what it leaves out.

use std::fmt::{self, Write};

/// The most entries shown.
const MOST_ENTRIES: usize = 500;
/// The most troubles shown.
const MOST_TROUBLES: usize = 20;

/// Files and directories, and those that could not be looked at.
#[derive(Default)]
pub(crate) struct Listing {
    entries: Vec<String>,
    left_out: usize,
    pub(crate) troubles: Troubles,
}

impl Listing {
    /// Adds an entry.
    pub(crate) fn push(&mut self, entry: impl FnOnce() -> String) {
        if self.entries.len() < MOST_ENTRIES {
            self.entries.push(entry());
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the list as text. `nothing` stands for an empty one; `narrower` tells how to
    /// see the rest of a long one.
    pub(crate) fn render(self, nothing: &str, narrower: &str) -> String {
        let Self { entries, left_out, troubles } = self;
        let mut text = if entries.is_empty() { nothing.to_owned() } else { entries.join("\n") };
        if left_out > 0 {
            let _ = write!(text, "\n[{left_out} more left out; to see them {narrower}]");
        }
        let _ = write!(text, "{troubles}");
        text
    }
}

/// What could not be looked at, one line each.
#[derive(Default)]
pub(crate) struct Troubles(Vec<String>);

impl Troubles {
    /// Adds something that could not be looked at.
    pub(crate) fn push(&mut self, error: &impl ToString) {
        self.0.push(error.to_string());
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for trouble in self.0.iter().take(MOST_TROUBLES) {
            write!(f, "\n[not read: {trouble}]")?;
        }
        match self.0.len().saturating_sub(MOST_TROUBLES) {
            0 => Ok(()),
            more => write!(f, "\n[not read: {more} more]"),
        }
    }
}
