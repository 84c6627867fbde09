//! The answer and nothing else.

use std::{io, time::Duration};

use adjutant_core::{Detail, Tree};
use adjutant_engine::Seen;

use crate::{Ended, Output, View, view::NO_HURRY};

/// Writes the answer at the end, and nothing before.
pub struct Quiet(Output);

impl Quiet {
    /// Writes the answer to `answer`.
    pub fn new(answer: Output) -> Self {
        Self(answer)
    }
}

impl View for Quiet {
    fn show(&mut self, _: &Tree, _: &Seen) -> io::Result<()> {
        Ok(())
    }

    fn detail(&self) -> Option<Detail> {
        None
    }

    fn breath(&self) -> Option<Duration> {
        Some(NO_HURRY)
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        self.0.write(ended)
    }
}
