//! A text whose lines all end alike, and the way back to how they end in the file.

use std::{borrow::Cow, mem, ops::Range};

use memchr::memchr_iter;

use super::Swap;

/// A file without the carriage returns at the ends of its lines.
pub(super) struct Text<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Where in `bytes` a line ends that ends in CRLF in the file.
    crlf: Vec<usize>,
}

impl<'a> Text<'a> {
    pub(super) fn of(file: &'a [u8]) -> Self {
        let (mut bytes, mut crlf, mut done) = (Vec::new(), Vec::new(), 0);
        for end in memchr_iter(b'\n', file).filter(|end| file[..*end].ends_with(b"\r")) {
            bytes.extend_from_slice(&file[done..end - 1]);
            crlf.push(bytes.len());
            done = end;
        }
        if crlf.is_empty() {
            return Self { bytes: file.into(), crlf };
        }
        bytes.extend_from_slice(&file[done..]);
        Self { bytes: bytes.into(), crlf }
    }

    /// Returns what is to be done to the file when `with` replaces a range here. Where both
    /// are the same the file is not touched, and a new line ends like those around it.
    pub(super) fn swap(&self, range: Range<usize>, with: &[u8]) -> Swap {
        let usual = self.is_crlf_at(&range);
        let is_mixed = self.in_file(range.end) - self.in_file(range.start) > range.len();
        let has_crlf = usual || is_mixed && !with.contains(&b'\r');
        let with = if has_crlf { without_returns(with) } else { with.into() };
        let Range { mut start, mut end } = range;
        let mut kept = &*with;
        // Half of a line's end is not the same as the whole.
        if !with.contains(&b'\r') {
            let old = &self.bytes[start..end];
            let alike = old.iter().zip(kept).take_while(|(a, b)| a == b).count();
            (start, kept) = (start + alike, &kept[alike..]);
            let old = self.bytes[start..end].iter().rev();
            let alike = old.zip(kept.iter().rev()).take_while(|(a, b)| a == b).count();
            (end, kept) = (end - alike, &kept[..kept.len() - alike]);
        }
        let with = if has_crlf { self.ended(start..end, kept, usual) } else { kept.to_vec() };
        Swap { range: self.in_file(start)..self.in_file(end), with }
    }

    /// Ends each line like the line of a range that it is, or whose place it takes; one that is
    /// neither ends as usual.
    fn ended(&self, range: Range<usize>, new: &[u8], usual: bool) -> Vec<u8> {
        let ends = memchr_iter(b'\n', &self.bytes[range.clone()]).map(|end| range.start + end);
        let mut from = range.start;
        let old = ends.map(|end| {
            let line = &self.bytes[mem::replace(&mut from, end + 1)..end];
            (line, self.crlf.binary_search(&end).is_ok())
        });
        let old: Vec<_> = old.collect();
        let is_even = memchr_iter(b'\n', new).count() == old.len();
        let (mut bytes, mut next) = (Vec::with_capacity(new.len()), 0);
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                bytes.extend_from_slice(line);
                break;
            };
            let same = old[next..].iter().position(|(old, _)| is_even || *old == line);
            let is_crlf = same.map_or(usual, |same| {
                next += same + 1;
                old[next - 1].1
            });
            bytes.extend_from_slice(line);
            bytes.extend_from_slice(if is_crlf { b"\r\n" } else { b"\n" });
        }
        bytes
    }

    fn in_file(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|end| *end < at)
    }

    /// Reports how the first line of a range ends; the last line of a file that has no end
    /// is taken for one like the line before.
    fn is_crlf_at(&self, range: &Range<usize>) -> bool {
        let next = memchr::memchr(b'\n', &self.bytes[range.start..]).map(|end| range.start + end);
        let end = next.or_else(|| memchr::memrchr(b'\n', &self.bytes[..range.start]));
        end.is_some_and(|end| self.crlf.binary_search(&end).is_ok())
    }
}

fn without_returns(text: &[u8]) -> Cow<'_, [u8]> {
    match Text::of(text).bytes {
        Cow::Borrowed(_) => text.into(),
        Cow::Owned(bytes) => bytes.into(),
    }
}
