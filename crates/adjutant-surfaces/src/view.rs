//! What a front end is: something that is shown events.

use std::{io, sync::Arc, time::Duration};

use adjutant_core::{Detail, JournalError, Millis, Outcome, Receipt, Tree, tree::Question};
use adjutant_engine::Seen;

/// How long a view can wait that only shows the end.
pub(crate) const NO_HURRY: Duration = Duration::from_millis(20);

/// Shows a session to somebody, or to some program.
///
/// Writes may block, so a view belongs on a thread that no agent needs: the main
/// one of a runtime with several.
pub trait View: Send {
    /// Shows what happened. The tree has followed it already.
    fn show(&mut self, tree: &Tree, seen: &Seen) -> io::Result<()>;

    /// Shows that time goes by. Called many times a second, but not while a
    /// person is being asked.
    fn tick(&mut self, _tree: &Tree, _now: Millis) -> io::Result<()> {
        Ok(())
    }

    /// Learns that a line was typed that nobody asked for. Its echo pushed the screen's
    /// cursor a row down.
    fn pushed_down(&mut self) {}

    /// Returns how much the view wants to be shown before the end, if anything.
    fn detail(&self) -> Option<Detail> {
        Some(Detail::Fragments)
    }

    /// Returns how long the view can do without being shown anything. The end is shown at
    /// once all the same.
    fn breath(&self) -> Option<Duration> {
        None
    }

    /// Leaves the screen to somebody else, until the next tick.
    fn step_aside(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Shows how it ended.
    fn end(&mut self, ended: &Ended) -> io::Result<()>;
}

/// A session that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What came of the root.
    pub outcome: Arc<Outcome>,
    /// The facts of the root.
    pub receipt: Arc<Receipt>,
    /// Every agent there was.
    pub tree: Tree,
    /// The questions that nobody was there to answer.
    pub unanswered: Vec<Question>,
}

/// A front end could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SurfaceError {
    /// Whoever read what was written went away. Not worth a word.
    #[error("the reader went away")]
    ReaderGone,
    /// What happened could not be written.
    #[error("cannot write what happened: {0}")]
    Write(io::Error),
    /// What happened could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The events ended and the root had not.
    #[error("the events ended before the root did")]
    Unfinished,
}

impl From<io::Error> for SurfaceError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Write(error),
        }
    }
}
