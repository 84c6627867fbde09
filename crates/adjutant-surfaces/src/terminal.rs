//! What a terminal itself is asked.

use std::os::fd::AsFd;

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many columns.
    pub columns: usize,
    /// How many rows.
    pub rows: usize,
}

impl Size {
    /// Asks a terminal for its size; one that does not know has 80 columns and 24
    /// rows.
    pub fn of(terminal: impl AsFd) -> Self {
        match tcgetwinsize(terminal) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Self { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => Self { columns: 80, rows: 24 },
        }
    }
}

/// Throws away what was typed on a terminal and not read yet, half a line included.
/// What is not a terminal has nothing typed on it.
pub fn forget_typed(terminal: impl AsFd) {
    let _ = tcflush(terminal, QueueSelector::IFlush);
}
