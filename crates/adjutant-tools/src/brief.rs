//! Text made shorter, or fit to be shown.

use std::{fmt::Display, path::Path};

/// Returns the first line of a text, no longer than `most` characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let is_whole = line.len() == text.trim().len() && line.chars().count() <= most;
    if is_whole {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Returns the beginning of a text, no longer than `most` bytes, and how many are left out.
pub(crate) fn beginning(text: &str, most: usize) -> (&str, usize) {
    let beginning = &text[..text.floor_char_boundary(most)];
    (beginning, text.len() - beginning.len())
}

/// Returns a path as it is, or in quotes if a character in it would do more than be seen.
pub(crate) fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) { format!("{text:?}") } else { text.into_owned() }
}

/// Returns how many there are of something.
pub(crate) fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let s = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(beginning("aé", 2), ("a", 2));
        assert_eq!(beginning("aé", 3), ("aé", 0));
        assert_eq!(line("ééé", 3), "ééé");
        assert_eq!(line("éééé", 3), "éé…");
        assert_eq!(line("\n one\ntwo", 10), "one…");
    }

    #[test]
    fn a_name_does_nothing_but_be_seen() {
        assert_eq!(path("a b/\"é\\".as_ref()), "a b/\"é\\");
        assert_eq!(path("a\n[b\u{1b}\u{9b}".as_ref()), r#""a\n[b\u{1b}\u{9b}""#);
    }
}
