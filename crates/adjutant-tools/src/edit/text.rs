//! A text whose lines all end alike, and the way back to how they end in the file.

use std::{borrow::Cow, ops::Range};

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
        let is_crlf = self.is_crlf_at(&range);
        let with = if is_crlf { without_returns(with) } else { with.into() };
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
        let with = if is_crlf { with_returns(kept) } else { kept.to_vec() };
        Swap { range: self.in_file(start)..self.in_file(end), with }
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

fn with_returns(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => bytes.extend([line, b"\r\n"].concat()),
            None => bytes.extend_from_slice(line),
        }
    }
    bytes
}
