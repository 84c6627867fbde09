//! Two places at once.

use std::{io, time::Duration};

use adjutant_core::{Detail, Millis, Tree};
use adjutant_engine::Seen;

use crate::{Ended, View};

/// Shows a session in two places, such as a file for a program and a terminal for the
/// person who waits for it.
pub struct Both(pub Box<dyn View>, pub Box<dyn View>);

impl View for Both {
    fn show(&mut self, tree: &Tree, seen: &Seen) -> io::Result<()> {
        self.0.show(tree, seen)?;
        self.1.show(tree, seen)
    }

    fn tick(&mut self, tree: &Tree, now: Millis) -> io::Result<()> {
        self.0.tick(tree, now)?;
        self.1.tick(tree, now)
    }

    fn pushed_down(&mut self) {
        self.0.pushed_down();
        self.1.pushed_down();
    }

    fn detail(&self) -> Option<Detail> {
        self.0.detail().max(self.1.detail())
    }

    fn breath(&self) -> Option<Duration> {
        self.0.breath().min(self.1.breath())
    }

    fn step_aside(&mut self) -> io::Result<()> {
        self.0.step_aside()?;
        self.1.step_aside()
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        self.1.end(ended)?;
        self.0.end(ended)
    }
}
