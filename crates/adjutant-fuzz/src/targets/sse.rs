//! Server-sent events: the decoder, which takes pieces, against one that sees all at once.

use adjutant_models::sse::{Decoder, TooLong};

use super::{cut, hash};
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "sse",
    words: &["data: ", "data:", "data", "\n\n", "\r\n", "\r", "\u{feff}", ": ", "event: x\n", "\0"],
    check,
};

/// The longest event here: short, so that many are longer.
const LONGEST: usize = 100;

/// The data of events, and whether one that is too long follows.
type Events = (Vec<Vec<u8>>, Result<(), TooLong>);

fn check(input: &[u8]) -> u64 {
    let expected = within(LONGEST, input);
    for pieces in [vec![input], input.chunks(1).collect(), cut(input)] {
        assert_eq!(decode(&pieces), expected, "in {} pieces", pieces.len());
    }
    let (events, end) = expected;
    let sizes: Vec<_> = events.iter().take(4).map(|data| data.len().min(2)).collect();
    hash((sizes, events.len().min(8), end.is_ok()))
}

fn decode(pieces: &[&[u8]]) -> Events {
    let (mut decoder, mut events) = (Decoder::taking(LONGEST), Vec::new());
    for piece in pieces {
        let push = decoder.push(piece, |data| {
            events.push(data.to_vec());
            Ok(())
        });
        assert!(decoder.kept() <= LONGEST, "it keeps {} bytes", decoder.kept());
        if push.is_err() {
            return (events, push);
        }
    }
    (events, Ok(()))
}

/// Returns the data of all events, however long.
pub(super) fn events(input: &[u8]) -> Vec<Vec<u8>> {
    within(usize::MAX, input).0
}

fn within(longest: usize, input: &[u8]) -> Events {
    let lines = lines(input);
    let (mut events, mut data) = (Vec::new(), None::<Vec<u8>>);
    for (place, line) in lines.iter().enumerate() {
        if line.len() + data.as_ref().map_or(0, Vec::len) > longest {
            return (events, Err(TooLong));
        }
        if place + 1 == lines.len() {
            break;
        }
        let bom: &[u8] = if place == 0 { b"\xEF\xBB\xBF" } else { b"" };
        let line = line.strip_prefix(bom).unwrap_or(line);
        if line.is_empty() {
            events.extend(data.take());
            continue;
        }
        let mut halves = line.splitn(2, |byte| *byte == b':');
        if halves.next() == Some(b"data") {
            let value = halves.next().unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            data = Some(data.map_or_else(|| value.to_vec(), |data| [&data, value].join(&b'\n')));
        }
    }
    (events, Ok(()))
}

/// Returns the lines of a text. The last has no end.
fn lines(input: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut start) = (Vec::new(), 0);
    for (at, byte) in input.iter().enumerate() {
        let is_half = *byte == b'\n' && at > 0 && input[at - 1] == b'\r';
        if is_half {
            start = at + 1;
        } else if matches!(byte, b'\n' | b'\r') {
            lines.push(&input[start..at]);
            start = at + 1;
        }
    }
    lines.push(&input[start..]);
    lines
}
