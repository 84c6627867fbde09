//! Progress as a log, a line for each thing worth one.

use std::io::{self, Write};

use adjutant_core::{Detail, Tree};
use adjutant_engine::Seen;

use crate::{Ended, Output, View, transcript};

/// Writes a log while agents work, and the answer at the end.
pub struct Plain {
    log: Box<dyn Write + Send>,
    answer: Output,
}

impl Plain {
    /// Writes progress to `log`, usually the standard error.
    pub fn new(log: Box<dyn Write + Send>, answer: Output) -> Self {
        Self { log, answer }
    }
}

impl View for Plain {
    fn show(&mut self, tree: &Tree, seen: &Seen) -> io::Result<()> {
        let Seen::Event(event) = seen else { return Ok(()) };
        let Some(line) = transcript::line(tree, event) else { return Ok(()) };
        writeln!(self.log, "{line}")?;
        self.log.flush()
    }

    fn detail(&self) -> Option<Detail> {
        Some(Detail::Kept)
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        self.answer.write(ended)
    }
}
