//! Lines that are the same but for the blanks at their ends.

use memchr::{memchr_iter, memmem};

use super::{Misfit, Swap};

/// Finds the only place where whole lines fit but for blanks before and after them, and
/// what is to stand there. New lines are indented like the old ones, if the file leaves no
/// doubt what that means; old lines that stay are left as they are in the file.
pub(super) fn find(text: &[u8], old: &[u8], new: &[u8]) -> Result<Option<Swap>, Misfit> {
    let is_whole = old.ends_with(b"\n");
    let (old, new_lines) = (lines(old), lines(new));
    let needle = bare(&old);
    // Blank lines are everywhere, and an edit of nothing but blanks is about the blanks.
    if needle.iter().all(|byte| *byte == b'\n') || needle == bare(&new_lines) {
        return Ok(None);
    }
    let all = lines(text);
    let hay = bare(&all);
    let Some(at) = memmem::find(&hay, &needle) else { return Ok(None) };
    let index = |at: usize| memchr_iter(b'\n', &hay[..at]).count();
    if let Some(more) = memmem::find(&hay[at + 1..], &needle) {
        let lines = vec![index(at) + 1, index(at + 1 + more) + 1];
        return Err(Misfit::Many { count: 2, lines });
    }
    let first = index(at);
    let found = &all[first..first + old.len()];
    let start = all[..first].iter().map(|line| line.len() + 1).sum();
    let mut range = start..start + found.join(&b'\n').len();
    let mut with = fit(&old, found, &new_lines, first)?.join(&b'\n');
    if is_whole && text.get(range.end) == Some(&b'\n') {
        range.end += 1;
        if new.ends_with(b"\n") {
            with.push(b'\n');
        }
    } else if !is_whole && new.ends_with(b"\n") {
        with.push(b'\n');
    }
    Ok(Some(Swap { range, with }))
}

/// Returns the lines of a text. What follows the last line's end is no line.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').collect()
}

/// Joins lines without their blanks, each between two line ends.
fn bare(lines: &[&[u8]]) -> Vec<u8> {
    let mut text = vec![b'\n'];
    for line in lines {
        text.extend_from_slice(trimmed(line));
        text.push(b'\n');
    }
    text
}

/// Returns the new lines as the file would have them.
fn fit<'a>(
    old: &[&[u8]],
    found: &[&'a [u8]],
    new: &[&'a [u8]],
    first: usize,
) -> Result<Vec<Vec<u8>>, Misfit> {
    let is_same = |(old, new): &(&&[u8], &&[u8])| old == new;
    let head = old.iter().zip(new).take_while(is_same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_same).count();
    let (fresh, mut lines) = (&new_rest[..new_rest.len() - tail], Vec::with_capacity(new.len()));
    lines.extend(found[..head].iter().map(|line| line.to_vec()));
    let shift = Shift::between(old, found);
    for line in fresh {
        let moved = if trimmed(line).is_empty() {
            Some(line.to_vec())
        } else {
            shift.as_ref().and_then(|shift| shift.apply(line))
        };
        lines.push(moved.ok_or(Misfit::Indentation { line: first + 1 })?);
    }
    lines.extend(found[found.len() - tail..].iter().map(|line| line.to_vec()));
    Ok(lines)
}

/// How the file is indented otherwise than the old text.
enum Shift<'a> {
    /// By this more.
    More(&'a [u8]),
    /// By this less.
    Less(&'a [u8]),
    /// With a tab for so many spaces.
    Tabs(usize),
    /// With so many spaces for a tab.
    Spaces(usize),
}

impl<'a> Shift<'a> {
    fn between(old: &[&'a [u8]], found: &[&'a [u8]]) -> Option<Self> {
        let filled = old.iter().zip(found).filter(|(old, _)| !trimmed(old).is_empty());
        let pairs: Vec<_> = filled.map(|(old, found)| (indent(old), indent(found))).collect();
        let (old, found) = *pairs.first()?;
        if let Some(more) = found.strip_suffix(old)
            && pairs.iter().all(|(old, found)| found.strip_suffix(*old) == Some(more))
        {
            return Some(Self::More(more));
        }
        if let Some(less) = old.strip_suffix(found)
            && pairs.iter().all(|(old, found)| old.strip_suffix(*found) == Some(less))
        {
            return Some(Self::Less(less));
        }
        let turned: Vec<_> = pairs.iter().map(|(old, found)| (*found, *old)).collect();
        width(&pairs).map(Self::Tabs).or_else(|| width(&turned).map(Self::Spaces))
    }

    fn apply(&self, line: &[u8]) -> Option<Vec<u8>> {
        let (blank, rest) = line.split_at(indent(line).len());
        match self {
            Self::More(more) => Some([*more, line].concat()),
            Self::Less(less) => line.strip_prefix(*less).map(<[u8]>::to_vec),
            Self::Tabs(width) => {
                let is_even = is_all(blank, b' ') && blank.len().is_multiple_of(*width);
                is_even.then(|| [&b"\t".repeat(blank.len() / width), rest].concat())
            }
            Self::Spaces(width) => {
                is_all(blank, b'\t').then(|| [&b" ".repeat(blank.len() * width), rest].concat())
            }
        }
    }
}

/// Returns how many spaces stand for one tab, if that is the same in all lines.
fn width(pairs: &[(&[u8], &[u8])]) -> Option<usize> {
    let (spaces, tabs) = pairs.iter().find(|(_, tabs)| !tabs.is_empty())?;
    let width = spaces.len() / tabs.len();
    let is_even = |(spaces, tabs): &(&[u8], &[u8])| {
        is_all(spaces, b' ') && is_all(tabs, b'\t') && spaces.len() == tabs.len() * width
    };
    (width > 0 && pairs.iter().all(is_even)).then_some(width)
}

fn is_all(blanks: &[u8], blank: u8) -> bool {
    blanks.iter().all(|byte| *byte == blank)
}

fn indent(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
    &line[..end]
}

fn trimmed(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    let line = &line[..end];
    &line[indent(line).len()..]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
