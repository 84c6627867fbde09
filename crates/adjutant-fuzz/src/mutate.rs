//! Makes an input out of others.

use std::ops::Range;

use fastrand::Rng;

/// The largest input.
const LARGEST: usize = 16 * 1024;
/// Values that programs stumble over.
const ODD: [&str; 24] = [
    "0",
    "1",
    "-1",
    "-0",
    "127",
    "255",
    "256",
    "32768",
    "65535",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-400",
    "0.1",
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "\"\\ud800\"",
];

pub(crate) struct Mutator {
    chance: Rng,
    words: &'static [&'static str],
}

impl Mutator {
    pub(crate) fn new(chance: Rng, words: &'static [&'static str]) -> Self {
        Self { chance, words }
    }

    /// Returns a number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.chance.usize(..end.max(1))
    }

    /// Changes one of the pool in a few ways.
    pub(crate) fn mutate(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut pick = || self.chance.choice(pool).map_or(&[][..], Vec::as_slice);
        let (mut input, other) = (pick().to_vec(), pick());
        for _ in 0..=self.below(4) {
            self.change(&mut input, other);
            input.truncate(LARGEST);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        match self.below(11) {
            0 => self.flip(input),
            1 => self.insert(input),
            2 => self.delete(input),
            3 => self.truncate(input),
            4 => self.double(input),
            5 => self.remove(input),
            6 => self.shift(input),
            7 => self.splice(input, other),
            8 => self.odd_number(input),
            9 => self.odd_value(input),
            _ => self.word(input),
        }
    }

    fn flip(&mut self, input: &mut [u8]) {
        let at = self.below(input.len());
        if let Some(byte) = input.get_mut(at) {
            *byte ^= 1 << self.chance.u8(..8);
        }
    }

    fn insert(&mut self, input: &mut Vec<u8>) {
        let (at, byte) = (self.below(input.len() + 1), self.chance.u8(..));
        input.insert(at, byte);
    }

    fn delete(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len());
        if at < input.len() {
            input.remove(at);
        }
    }

    fn truncate(&mut self, input: &mut Vec<u8>) {
        input.truncate(self.below(input.len()));
    }

    fn double(&mut self, input: &mut Vec<u8>) {
        let chunk = self.chunk(input);
        let copy = input[chunk.clone()].to_vec();
        input.splice(chunk.end..chunk.end, copy);
    }

    fn remove(&mut self, input: &mut Vec<u8>) {
        let chunk = self.chunk(input);
        input.drain(chunk);
    }

    fn shift(&mut self, input: &mut Vec<u8>) {
        let chunk = self.chunk(input);
        let moved: Vec<_> = input.drain(chunk).collect();
        let at = self.chunk(input).start;
        input.splice(at..at, moved);
    }

    /// Puts a chunk of another input into the place of one of this.
    fn splice(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let (there, chunk) = (self.chunk(other), self.chunk(input));
        let at = if self.chance.bool() { chunk } else { chunk.start..chunk.start };
        input.splice(at, other[there].iter().copied());
    }

    fn odd_number(&mut self, input: &mut Vec<u8>) {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let from = self.below(input.len());
        let Some(start) = input[from..].iter().position(is_digit).map(|at| from + at) else {
            return;
        };
        let length = input[start..].iter().take_while(|byte| is_digit(byte)).count();
        let odd = self.odd();
        input.splice(start..start + length, odd);
    }

    /// Puts something odd into the place of a quoted text.
    fn odd_value(&mut self, input: &mut Vec<u8>) {
        let from = self.below(input.len());
        let mut quotes = (from..input.len()).filter(|at| input[*at] == b'"');
        let (Some(start), Some(end)) = (quotes.next(), quotes.next()) else { return };
        let odd = self.odd();
        input.splice(start..=end, odd);
    }

    fn word(&mut self, input: &mut Vec<u8>) {
        let at = if self.chance.bool() { self.chunk(input) } else { self.spot(input) };
        if let Some(word) = self.chance.choice(self.words) {
            input.splice(at, word.bytes());
        }
    }

    /// Picks an odd value, or makes a deep one.
    fn odd(&mut self) -> Vec<u8> {
        let place = self.below(ODD.len() + 1);
        // About as deep as readers of JSON go.
        let depth = 120 + self.below(10);
        let deep = || format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        ODD.get(place).map_or_else(deep, |odd| (*odd).to_owned()).into_bytes()
    }

    fn spot(&mut self, input: &[u8]) -> Range<usize> {
        let at = self.below(input.len() + 1);
        at..at
    }

    /// Picks a chunk: any bytes, a line, or what an empty line ends.
    fn chunk(&mut self, input: &[u8]) -> Range<usize> {
        let from = self.below(input.len());
        let end_mark: &[u8] = match self.below(3) {
            0 => return from..(from + 1 + self.below(64)).min(input.len()),
            1 => b"\n",
            _ => b"\n\n",
        };
        let after = |range: &[u8]| range.windows(end_mark.len()).position(|it| it == end_mark);
        let end = after(&input[from..]).map_or(input.len(), |at| from + at + end_mark.len());
        let before = input[..from].windows(end_mark.len()).rposition(|it| it == end_mark);
        before.map_or(0, |at| at + end_mark.len())..end
    }
}
