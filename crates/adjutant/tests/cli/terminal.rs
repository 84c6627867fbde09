//! A terminal with a person at it.

use std::{
    fs::File,
    io::{Read, Write},
    process::Child,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::{
    running::Watchdog,
    support::{SETSID, World},
};

/// A terminal, high enough not to scroll, and the command that was given there.
pub(crate) struct Terminal<'a> {
    _world: &'a World,
    device: File,
    child: Child,
    shown: Vec<u8>,
    _watchdog: Watchdog,
}

impl<'a> Terminal<'a> {
    /// Gives a command.
    pub(crate) fn start(world: &'a World, command: &[&str]) -> Self {
        let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let device = File::from(device.unwrap());
        grantpt(&device).unwrap();
        unlockpt(&device).unwrap();
        let size = Winsize { ws_row: 60, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&device, size).unwrap();
        let name = ptsname(&device, Vec::new()).unwrap().into_string().unwrap();
        let child = {
            let open = || File::options().read(true).write(true).open(&name).unwrap();
            // The terminal is the one that controls the command.
            let mut command = world.prepare(SETSID, &[&["--ctty"], command].concat());
            command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap()
        };
        let watchdog = Watchdog::new(&child);
        Self { _world: world, device, child, shown: Vec::new(), _watchdog: watchdog }
    }

    /// Waits until some words are on the screen.
    pub(crate) fn wait_for(&mut self, words: &str) {
        while !self.screen().contains(words) {
            assert!(self.read(), "“{words}” never came:\n{}", self.screen());
        }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.device.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end, and returns the code and what is on the screen.
    pub(crate) fn finish(mut self) -> (Option<i32>, String) {
        while self.read() {}
        (self.child.wait().unwrap().code(), self.screen())
    }

    /// Takes the terminal away, waits for the end, and returns the code.
    pub(crate) fn hang_up(mut self) -> Option<i32> {
        // Something is open in its place.
        self.device = File::open("/dev/null").unwrap();
        self.child.wait().unwrap().code()
    }

    /// Reads what comes, and reports whether there was anything. Nobody else has the terminal
    /// open once the command has ended, which makes reading an error.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let count = self.device.read(&mut buffer).unwrap_or(0);
        self.shown.extend(&buffer[..count]);
        count > 0
    }

    fn screen(&self) -> String {
        let mut screen = Screen::default();
        // The last character may be there by half.
        let text = String::from_utf8_lossy(&self.shown);
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => screen.obey(&mut rest),
                c => screen.put(c),
            }
        }
        let lines: Vec<_> = screen.rows.iter().map(String::from_iter).collect();
        let lines: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // It has usually ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As much of a terminal's screen as is needed to see what is left on it.
#[derive(Default)]
struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn put(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            c => {
                let rows = self.rows.len().max(self.row + 1);
                self.rows.resize(rows, Vec::new());
                let row = &mut self.rows[self.row];
                row.resize(row.len().max(self.column + 1), ' ');
                row[self.column] = c;
                self.column += 1;
            }
        }
    }

    /// Follows a sequence that begins with `[`. Those for colours and for drawing at once
    /// change nothing here.
    fn obey(&mut self, rest: &mut impl Iterator<Item = char>) {
        let is_last = |c: &char| c.is_ascii_alphabetic();
        let mut argument = String::new();
        let order = loop {
            match rest.next() {
                Some(c) if is_last(&c) => break c,
                Some(c) => argument.push(c),
                None => return,
            }
        };
        match (argument.as_str(), order) {
            (rows, 'A') => self.row -= rows[1..].parse::<usize>().unwrap(),
            ("[", 'J') => {
                self.rows.truncate(self.row + 1);
                self.rows.iter_mut().skip(self.row).for_each(|row| row.truncate(self.column));
            }
            ("[", 'K') => {
                if let Some(row) = self.rows.get_mut(self.row) {
                    row.truncate(self.column);
                }
            }
            (_, 'm') | ("[?2026", 'h' | 'l') => {}
            other => panic!("this terminal does not know {other:?}"),
        }
    }
}
