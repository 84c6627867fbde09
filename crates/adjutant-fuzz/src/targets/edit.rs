//! The edit of a file: whatever a model takes for what is in it.

use adjutant_tools::fuzz::{Edited, edit};

use super::hash;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "edit",
    words: &[
        BETWEEN, ALL, "\n", "\r\n", "\r", "\t", "    ", " \n", "\n\n", "\u{feff}", "é", "😀", "}\n",
    ],
    check,
};

/// What stands between the old text, the new one and the file.
const BETWEEN: &str = "\n%%\n";
/// What comes first when every occurrence is meant.
const ALL: &str = "%all%";

fn check(input: &[u8]) -> u64 {
    let (is_all, input) = match input.strip_prefix(ALL.as_bytes()) {
        Some(rest) => (true, rest),
        None => (false, input),
    };
    let (old, rest) = cut(input);
    let (new, file) = cut(rest);
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let end = edit(file, &old, &new, is_all);
    match &end {
        Ok(edited) => check_edited(file, &old, &new, edited),
        Err(why) => assert!(why.len() < 8000, "a complaint of {} bytes", why.len()),
    }
    check_plain(file, &old, &new, is_all, end.as_ref());
    kind(file, &end)
}

fn cut(input: &[u8]) -> (&[u8], &[u8]) {
    let found = input.windows(BETWEEN.len()).position(|it| it == BETWEEN.as_bytes());
    found.map_or((input, &[]), |at| (&input[..at], &input[at + BETWEEN.len()..]))
}

/// Only what was to be replaced is, and only by what was to be there.
fn check_edited(file: &[u8], old: &str, new: &str, edited: &Edited) {
    let (mut expected, mut done) = (Vec::new(), 0);
    for (range, with) in &edited.swaps {
        let (was, is) = (solid(&file[range.clone()]), solid(with));
        assert!(contains(&solid(old.as_bytes()), &was), "more than the old text was replaced");
        assert!(contains(&solid(new.as_bytes()), &is), "something else was put there");
        expected.extend([&file[done..range.start], with].concat());
        done = range.end;
    }
    expected.extend_from_slice(&file[done..]);
    assert_eq!(edited.content, expected, "something else was changed");
    assert_ne!(edited.content, file, "nothing was changed");
    let is = bare(&edited.content);
    assert!(contains(&is, &bare(new.as_bytes())), "the new text is not there");
    let is_crlf =
        |text: &[u8]| (0..text.len()).all(|at| text[at] != b'\n' || text[..at].ends_with(b"\r"));
    if file.contains(&b'\n') && is_crlf(file) && !old.contains('\r') && !new.contains('\r') {
        assert!(is_crlf(&edited.content), "a line ends in LF among lines that end in CRLF");
    }
}

/// Where there is nothing odd, it does what the standard library does.
fn check_plain(file: &[u8], old: &str, new: &str, is_all: bool, end: Result<&Edited, &String>) {
    let Ok(text) = str::from_utf8(file) else { return };
    let is_odd = [text, old, new].iter().any(|it| it.contains(['\r', '\u{feff}']));
    let count =
        (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(old.as_bytes())).count();
    if is_odd || old.is_empty() || old == new || count == 0 {
        return;
    }
    if count == 1 || is_all {
        let Ok(edited) = end else { panic!("it is there and was not found: {end:?}") };
        assert_eq!(edited.content, text.replace(old, new).as_bytes());
        assert!(edited.is_exact, "it fits exactly");
    } else {
        assert!(end.is_err(), "it is there {count} times and one of them was taken");
    }
}

/// Returns a text without blanks and line ends, and without what marks it as UTF-8.
fn bare(text: &[u8]) -> Vec<u8> {
    solid(text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text))
}

/// Returns a text without blanks and line ends.
fn solid(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|it| it == part)
}

fn kind(file: &[u8], end: &Result<Edited, String>) -> u64 {
    let has = |word: &[u8]| contains(file, word);
    let file = (has(b"\r\n"), has(b"\t"), has(b"\xEF\xBB\xBF"), str::from_utf8(file).is_ok());
    match end {
        Ok(Edited { swaps, is_exact, content }) => {
            let sizes: Vec<_> = swaps.iter().take(3).map(|(range, _)| range.len().min(3)).collect();
            hash((file, sizes, is_exact, content.ends_with(b"\n")))
        }
        Err(why) => hash((file, why.chars().take(20).collect::<String>(), why.lines().count())),
    }
}
