//! What a command wrote, made fit for a model: text, without what steers a terminal, and
//! however much it was, no more than its beginning and its end.

use std::{fmt::Write as _, mem};

use crate::brief;

/// How much of the beginning is kept.
const HEAD: usize = 16 * 1024;

/// How much of the end is kept.
const TAIL: usize = 48 * 1024;

/// The longest line worth showing while a command runs.
const LINE: usize = 200;

/// What a command wrote and nobody has taken yet.
#[derive(Default)]
pub(crate) struct Output {
    filter: Filter,
    /// Bytes that may begin a character.
    partial: Vec<u8>,
    head: String,
    /// The latest, after the head; twice as much as is shown, so that it is seldom cut.
    tail: String,
    omitted: Omitted,
}

#[derive(Default)]
struct Omitted {
    bytes: usize,
    lines: usize,
}

impl Output {
    /// Adds what was read.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut bytes_left = mem::take(&mut self.partial);
        self.filter.pass(bytes, &mut bytes_left);
        let mut bytes = bytes_left.as_slice();
        loop {
            let error = match str::from_utf8(bytes) {
                Ok(text) => return self.add(text),
                Err(error) => error,
            };
            let (text, rest) = bytes.split_at(error.valid_up_to());
            self.add(&String::from_utf8_lossy(text));
            let Some(wrong) = error.error_len() else {
                self.partial = rest.to_owned();
                return;
            };
            self.add("\u{fffd}");
            bytes = &rest[wrong..];
        }
    }

    /// Nothing more will be added: what might have become a character is none.
    pub(crate) fn finish(&mut self) {
        if !mem::take(&mut self.partial).is_empty() {
            self.add("\u{fffd}");
        }
    }

    fn add(&mut self, text: &str) {
        // The second set of control characters, which are two bytes each.
        let pieces = text.split(|char| ('\u{80}'..='\u{9f}').contains(&char));
        pieces.for_each(|piece| self.add_plain(piece));
    }

    fn add_plain(&mut self, text: &str) {
        let room = if self.tail.is_empty() { HEAD - self.head.len() } else { 0 };
        let (head, tail) = text.split_at(text.floor_char_boundary(room));
        self.head.push_str(head);
        self.tail.push_str(tail);
        if self.tail.len() > 2 * TAIL {
            self.cut();
        }
    }

    /// Leaves out all but the end.
    fn cut(&mut self) {
        let end = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(TAIL));
        let omitted = self.tail.drain(..end);
        self.omitted.bytes += end;
        self.omitted.lines += omitted.filter(|char| *char == '\n').count();
    }

    /// Reports whether there is nothing to take.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Takes all there is, with a note of what was left out. Each line of it ends.
    pub(crate) fn take(&mut self) -> String {
        self.cut();
        let Omitted { bytes, lines } = mem::take(&mut self.omitted);
        let mut text = mem::take(&mut self.head);
        if bytes > 0 {
            end_line(&mut text);
            let _ = writeln!(
                text,
                "[{bytes} bytes, {lines} lines, left out here: send the output to a file and \
                 read that, or ask for less]"
            );
        }
        text.push_str(&mem::take(&mut self.tail));
        end_line(&mut text);
        text
    }

    /// Reports whether it is a single line that begins with some words.
    pub(crate) fn is_line_of(&self, words: &str) -> bool {
        let [head, tail] = [&self.head, &self.tail].map(|text| text.trim_end());
        tail.is_empty() && head.starts_with(words) && head.lines().count() == 1
    }

    /// Returns the latest line with anything on it.
    pub(crate) fn latest_line(&self) -> String {
        let tail = if self.tail.trim().is_empty() { &self.head } else { &self.tail };
        let line = tail.trim_end().lines().next_back().unwrap_or_default();
        brief::line(line, LINE)
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Takes out what steers a terminal. No sequence goes on after the end of its line, so that a
/// broken one cannot hide what comes next.
#[derive(Default)]
enum Filter {
    #[default]
    Text,
    /// After a carriage return: the line may end or be written over.
    Return,
    /// After an escape.
    Escape,
    /// In a sequence that ends with a letter or the like.
    Sequence,
    /// In words for the terminal, such as a title, that end with a bell or an escape.
    Words,
}

impl Filter {
    fn pass(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        for &byte in bytes {
            *self = self.step(byte, text);
        }
    }

    fn step(&self, byte: u8, text: &mut Vec<u8>) -> Self {
        if matches!(self, Self::Return) && byte != b'\r' && byte != b'\n' {
            // A line that is written over was one of its own.
            text.push(b'\n');
        }
        match (self, byte) {
            (Self::Escape | Self::Sequence | Self::Words, b'\n') => {}
            (Self::Text | Self::Return, b'\r') => return Self::Return,
            (_, 0x1b) => return Self::Escape,
            (Self::Escape, b'[') => return Self::Sequence,
            (Self::Escape, b']' | b'P' | b'X' | b'^' | b'_') => return Self::Words,
            // Those that stand between an escape and its end.
            (Self::Escape, b' '..=b'/') => return Self::Escape,
            (Self::Sequence, b' '..=b'?') => return Self::Sequence,
            (Self::Words, 0x07) | (Self::Escape | Self::Sequence, _) => return Self::Text,
            (Self::Words, _) => return Self::Words,
            (Self::Text | Self::Return, _) => {}
        }
        if matches!(byte, b'\n' | b'\t' | b' '..=b'~' | 0x80..) {
            text.push(byte);
        }
        Self::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut output = Output::default();
        pieces.iter().for_each(|piece| output.push(piece));
        output.finish();
        output.take()
    }

    #[test]
    fn what_steers_a_terminal_is_taken_out_wherever_it_is_cut() {
        let cases: [(&[u8], &str); 12] = [
            (b"\x1b[1;31mred\x1b[0m", "red\n"),
            (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink\n"),
            (b"\x1bPdevice\x1b\\a\x1b(Bb\x1b7c", "abc\n"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"10%\r20%\r\r\ndone", "10%\n20%\ndone\n"),
            (b"10%\r\x1b[Kdone", "10%\ndone\n"),
            (b"a\x00b\x08\x7fc\td\x07", "abc\td\n"),
            ("a\u{9b}31mé".as_bytes(), "a31mé\n"),
            (b"\x1b]never ended\nshown", "\nshown\n"),
            (b"\x1b[31\nshown", "\nshown\n"),
            (b"\xff\xfe\xc3", "\u{fffd}\u{fffd}\u{fffd}\n"),
            ("a\u{10ffff}".as_bytes(), "a\u{10ffff}\n"),
        ];
        for (written, expected) in cases {
            assert_eq!(shown(&[written]), expected);
            for cut in 0..written.len() {
                assert_eq!(shown(&[&written[..cut], &written[cut..]]), expected, "{cut}");
            }
        }
    }

    #[test]
    fn of_any_amount_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let lines: Vec<_> = (0..400_000).map(|number| format!("line é {number}\n")).collect();
        let all = lines.concat();
        let mut output = Output::default();
        for piece in all.as_bytes().chunks(1000) {
            output.push(piece);
            let held = output.head.capacity() + output.tail.capacity() + output.partial.capacity();
            assert!(held < 8 * (HEAD + TAIL), "{held}");
        }
        let text = output.take();
        let (head, rest) = text.split_once("\n[").unwrap();
        let (note, tail) = rest.split_once("]\n").unwrap();
        assert!(all.starts_with(head) && head.len() > HEAD - 4);
        assert!(all.ends_with(tail) && tail.len() > TAIL - 4);
        let omitted = &all[head.len()..all.len() - tail.len()];
        let lines = omitted.matches('\n').count();
        let counted = format!("{} bytes, {lines} lines, left out here: ", omitted.len());
        assert!(note.starts_with(&counted), "{note} instead of {counted}");
        assert!(note.contains("to a file"), "{note}");
    }

    #[test]
    fn what_is_not_too_much_is_shown_whole() {
        let written = "é".repeat((HEAD + TAIL) / 2 - 1);
        assert_eq!(shown(&[written.as_bytes()]), written.clone() + "\n");
        assert!(shown(&[written.as_bytes(), b"and more"]).contains("left out here"));
    }

    #[test]
    fn what_was_taken_is_not_there_again() {
        let mut output = Output::default();
        assert!(output.is_empty());
        output.push(b"one");
        assert!(!output.is_empty());
        assert_eq!(output.take(), "one\n");
        assert!(output.is_empty());
        output.push(b"two\n");
        assert_eq!((output.take(), output.take()), ("two\n".into(), String::new()));
    }

    #[test]
    fn the_latest_line_is_the_last_with_anything_on_it() {
        let mut output = Output::default();
        assert_eq!(output.latest_line(), "");
        output.push(b"one\ntwo\n\n");
        assert_eq!(output.latest_line(), "two");
        output.push(&[b'x'; 2 * HEAD]);
        assert_eq!(output.latest_line().chars().count(), LINE);
    }
}
