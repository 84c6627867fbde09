//! What a text that is not there may have meant.

use std::collections::HashMap;

use crate::excerpt;

/// The most lines shown.
const MOST_LINES: usize = 12;

/// Returns the lines that come nearest to a text, ready to be shown: where most of its
/// lines are, or else the line most like its first.
pub(super) fn find(text: &[u8], old: &[u8]) -> Option<String> {
    let wanted: Vec<&[u8]> = old.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let first = most_alike(&lines, &wanted).or_else(|| alike(&lines, &wanted))?;
    let shown = lines[first..].iter().take(wanted.len().min(MOST_LINES));
    let shown: Vec<_> = shown.zip(first + 1..).map(|(line, n)| excerpt::line(n, line)).collect();
    Some(shown.join("\n"))
}

/// Each line that is also in the text says where the text would begin.
fn most_alike(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<usize> {
    let filled = wanted.iter().enumerate().filter(|(_, line)| !line.is_empty());
    let places: HashMap<_, _> = filled.map(|(place, line)| (*line, place)).collect();
    let mut votes = HashMap::<usize, usize>::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(place) = places.get(line.trim_ascii()) {
            *votes.entry(at.saturating_sub(*place)).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(at, votes)| (*votes, usize::MAX - at));
    best.map(|(at, _)| at)
}

fn alike(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<usize> {
    let wanted = wanted.iter().find(|line| !line.is_empty())?;
    let scores = lines.iter().map(|line| likeness(line.trim_ascii(), wanted)).enumerate();
    let (at, score) = scores.max_by_key(|(at, score)| (*score, usize::MAX - at))?;
    (score * 2 >= wanted.len()).then_some(at)
}

/// Returns how many bytes two lines share at their ends.
fn likeness(line: &[u8], wanted: &[u8]) -> usize {
    let head = line.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let rest = line[head..].iter().rev().zip(wanted[head..].iter().rev());
    head + rest.take_while(|(a, b)| a == b).count()
}
