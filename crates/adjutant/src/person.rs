//! The person at the terminal, if there is one.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read, Write},
    thread,
};

use adjutant_surfaces::{Keyboard, forget_typed};
use tokio::sync::mpsc;

/// How many typed lines wait to be read.
const LINES: usize = 16;

/// Where a person is asked and answers.
pub(crate) struct Terminal {
    /// What they type on.
    pub(crate) keyboard: Keyboard,
    /// What they read.
    pub(crate) writer: Box<dyn Write + Send>,
}

impl Terminal {
    /// Finds the person: at the standard input, or where that is piped at the
    /// controlling terminal.
    pub(crate) fn find() -> Option<Self> {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            let forget = Box::new(|| forget_typed(io::stdin()));
            let keyboard = Keyboard { lines: read(io::stdin()), forget };
            return Some(Self { keyboard, writer: Box::new(io::stderr()) });
        }
        let device = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let (typed, screen) = (device.try_clone().ok()?, device.try_clone().ok()?);
        let keyboard =
            Keyboard { lines: read(typed), forget: Box::new(move || forget_typed(&device)) };
        Some(Self { keyboard, writer: Box::new(screen) })
    }
}

/// Reads lines on a thread of their own: a terminal cannot be waited for otherwise, and
/// the thread ends with the process.
fn read(from: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES);
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
