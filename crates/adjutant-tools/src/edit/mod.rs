//! Finds a text in a file and puts another in its place. Works on bytes: whatever is not
//! replaced stays as it is, be it text or not.
//!
//! The text has to be there once, or every time is meant. Line ends are not part of the
//! question, since nobody sees them; other whitespace may drift a little (`drift`), where
//! only one place can be meant.

mod drift;
mod misfit;
mod nearest;
mod text;

use std::{borrow::Cow, ops::Range};

use memchr::memmem;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use misfit::Misfit;
use text::Text;

/// What some files begin with, to say that they are UTF-8.
const MARK: char = '\u{FEFF}';

/// One text to be replaced by another.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The text to replace, as it is in the file, with enough lines around it to be there
    /// only once.
    pub(crate) old_text: String,
    /// The text to put in its place.
    pub(crate) new_text: String,
    /// Whether to replace it wherever it is (default: false).
    pub(crate) replace_all: Option<bool>,
}

/// A file as it is after an edit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) content: Vec<u8>,
    /// What was replaced, in order.
    pub(crate) swaps: Vec<Swap>,
    /// Where that is now.
    pub(crate) places: Vec<Range<usize>>,
    pub(crate) fit: Fit,
}

/// How well the old text fits what is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Letter by letter, line ends aside.
    Exact,
    /// But for blanks at the ends of lines.
    Blanks,
}

/// A range of the file as it was, and what stands there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) range: Range<usize>,
    pub(crate) with: Vec<u8>,
}

/// Edits a content.
pub(crate) fn apply(content: &[u8], edit: &Edit) -> Result<Applied, Misfit> {
    let has_mark = content.starts_with(MARK.to_string().as_bytes());
    let mark = if has_mark { MARK.len_utf8() } else { 0 };
    // The mark is not the model's to keep or to drop: it does not see it.
    let given = |text: &'_ str| match text.strip_prefix(MARK) {
        Some(rest) if has_mark => rest.to_owned(),
        _ => text.to_owned(),
    };
    let (old, new) = (given(&edit.old_text), given(&edit.new_text));
    if old.is_empty() {
        return Err(Misfit::Empty);
    }
    if old == new {
        return Err(Misfit::Same);
    }
    let is_all = edit.replace_all.unwrap_or(false);
    let (mut swaps, fit) = find(&content[mark..], &old, &new, is_all)?;
    for swap in &mut swaps {
        swap.range = swap.range.start + mark..swap.range.end + mark;
    }
    let (after, places) = splice(content, &swaps);
    if after == content {
        return Err(Misfit::Same);
    }
    Ok(Applied { content: after, swaps, places, fit })
}

fn find(body: &[u8], old: &str, new: &str, is_all: bool) -> Result<(Vec<Swap>, Fit), Misfit> {
    // Who writes a carriage return means it, if it is there.
    if old.contains('\r') {
        let starts = occurrences(body, old.as_bytes(), is_all)?;
        if !starts.is_empty() {
            let swap = |start| Swap { range: start..start + old.len(), with: new.into() };
            return Ok((starts.into_iter().map(swap).collect(), Fit::Exact));
        }
    }
    let text = Text::of(body);
    let (old, new) = match old.contains("\r\n") {
        true => (Cow::Owned(unix(old)), Cow::Owned(unix(new))),
        false => (Cow::Borrowed(old), Cow::Borrowed(new)),
    };
    let starts = occurrences(&text.bytes, old.as_bytes(), is_all)?;
    if !starts.is_empty() {
        let swap = |start| text.swap(start..start + old.len(), new.as_bytes());
        return Ok((starts.into_iter().map(swap).collect(), Fit::Exact));
    }
    let Swap { range, with } = drift::find(&text.bytes, old.as_bytes(), new.as_bytes())?
        .ok_or_else(|| Misfit::Absent(nearest::find(&text.bytes, old.as_bytes())))?;
    Ok((vec![text.swap(range, &with)], Fit::Blanks))
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns where a text is: nowhere, at the only place, or everywhere.
fn occurrences(body: &[u8], old: &[u8], is_all: bool) -> Result<Vec<usize>, Misfit> {
    let mut starts: Vec<_> = memmem::find_iter(body, old).collect();
    let Some(first) = starts.first().copied().filter(|_| !is_all) else { return Ok(starts) };
    // One that overlaps the first is another place too.
    if starts.len() == 1
        && let Some(more) = memmem::find(&body[first + 1..], old)
    {
        starts.push(first + 1 + more);
    }
    if starts.len() > 1 { Err(Misfit::many(body, &starts)) } else { Ok(starts) }
}

/// Replaces ranges of a content, and returns where the new ones are.
fn splice(content: &[u8], swaps: &[Swap]) -> (Vec<u8>, Vec<Range<usize>>) {
    let (mut after, mut places) = (Vec::with_capacity(content.len()), Vec::new());
    let mut done = 0;
    for Swap { range, with } in swaps {
        after.extend_from_slice(&content[done..range.start]);
        places.push(after.len()..after.len() + with.len());
        after.extend_from_slice(with);
        done = range.end;
    }
    after.extend_from_slice(&content[done..]);
    (after, places)
}

#[cfg(test)]
mod tests;
