//! The lines around a change.

use std::{collections::BTreeSet, fmt::Write, ops::Range};

use memchr::memchr_iter;

use crate::brief;

/// How many lines are shown before and after a change.
const AROUND: usize = 2;
/// The most lines shown at the beginning of a long change.
const MOST_OF_ONE: usize = 12;
/// The most places shown.
const MOST_PLACES: usize = 5;
/// The most lines shown.
const MOST_LINES: usize = 40;
/// The most bytes shown of one line.
const MOST_LINE_BYTES: usize = 200;

/// Shows the lines around the places of a content, numbered, with a dotted line where some
/// are left out.
pub(crate) fn around(content: &[u8], places: &[Range<usize>]) -> String {
    let line_at = |at: usize| memchr_iter(b'\n', &content[..at]).count() + 1;
    let mut wanted = BTreeSet::new();
    for place in places.iter().take(MOST_PLACES) {
        let (first, last) = (line_at(place.start), line_at(place.end));
        let end = (last + AROUND).min(first + MOST_OF_ONE);
        wanted.extend(first.saturating_sub(AROUND).max(1)..=end);
    }
    let (mut text, mut before) = (String::new(), 0);
    let lines = content.split_inclusive(|byte| *byte == b'\n').zip(1..);
    for (line, number) in lines.filter(|(_, number)| wanted.contains(number)).take(MOST_LINES) {
        if before > 0 && number > before + 1 {
            text.push_str("   ...\n");
        }
        let _ = writeln!(text, "{}", self::line(number, line));
        before = number;
    }
    text
}

/// Shows one line after its number.
pub(crate) fn line(number: usize, line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let (line, left_out) = brief::beginning(line.trim_end_matches(['\r', '\n']), MOST_LINE_BYTES);
    let cut = if left_out > 0 { " [the rest of the line is left out]" } else { "" };
    format!("{number:>6}\t{line}{cut}")
}
