//! Server-sent events, from bytes as they come.

/// The longest event that is taken. No provider sends one of this size.
const LONGEST: usize = 16 * 1024 * 1024;

/// An event is longer than any provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Takes bytes in pieces of any size and gives the data of each event when it is whole.
/// An event that is not ended by an empty line is none.
#[derive(Debug)]
pub struct Decoder {
    longest: usize,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return; a line feed right after it ends no line.
    after_return: bool,
    has_begun: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::taking(LONGEST)
    }
}

impl Decoder {
    /// Makes a decoder that takes events of so many bytes at most.
    pub fn taking(longest: usize) -> Self {
        let (line, data) = (Vec::new(), Vec::new());
        Self { longest, line, data, has_data: false, after_return: false, has_begun: false }
    }

    /// Returns how many bytes it keeps of an event that is not whole yet.
    pub fn kept(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Takes a piece, and hands on the data of the events it completes until one of them
    /// is refused.
    pub fn push<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.end_line(line, &mut each)?;
            let is_return = bytes[end] == b'\r';
            self.after_return = is_return && rest.is_empty();
            bytes = if is_return { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
        }
        self.check(bytes)?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Checks that there is room for more of a line, whether its end has come or not: what is
    /// too long is so however it is cut.
    fn check<E: From<TooLong>>(&self, more: &[u8]) -> Result<(), E> {
        if self.kept() + more.len() > self.longest { Err(TooLong.into()) } else { Ok(()) }
    }

    fn end_line<E: From<TooLong>>(
        &mut self,
        end: &[u8],
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check(end)?;
        if self.line.is_empty() {
            return self.field(end, each);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let end = self.field(&line, each);
        // The room is used again for the next line.
        line.clear();
        self.line = line;
        end
    }

    fn field<E>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = line;
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            let end = if self.has_data { each(&self.data) } else { Ok(()) };
            self.data.clear();
            self.has_data = false;
            return end;
        }
        // Names of events, ids and comments say nothing that the data does not say as well.
        let Some(value) = line.strip_prefix(b"data") else { return Ok(()) };
        let value = match value {
            [] => value,
            [b':', b' ', rest @ ..] | [b':', rest @ ..] => rest,
            _ => return Ok(()),
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in pieces {
            let push = decoder.push(piece, |data| {
                events.push(String::from_utf8_lossy(data).into_owned());
                Ok::<_, TooLong>(())
            });
            push.unwrap();
        }
        events
    }

    const STREAM: &str = "\u{feff}: hi\r\nevent: x\r\ndata: {\"a\":\r\ndata:  1}\r\n\r\nid: 7\ndata:é\n\n\
                          data\n\ndatum: no\n\nretry: 3\rdata: last\r\rdata: not ended\n";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let whole = decode(&[STREAM.as_bytes()]);
        assert_eq!(whole, ["{\"a\":\n 1}", "é", "", "last"]);
        for size in 1..STREAM.len() {
            let pieces: Vec<_> = STREAM.as_bytes().chunks(size).collect();
            assert_eq!(decode(&pieces), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_is_too_long_however_it_is_cut_and_not_kept() {
        for event in ["data: 78", ":2345678", "data: 1\ndata:78"] {
            let whole = format!("data: 1\n\n{event}\n\n");
            for (longest, expected) in [(8, Ok(())), (7, Err(TooLong))] {
                for size in 1..=whole.len() {
                    let (mut decoder, mut end) = (Decoder::taking(longest), Ok(()));
                    for piece in whole.as_bytes().chunks(size) {
                        end = end.and_then(|()| decoder.push(piece, |_| Ok::<_, TooLong>(())));
                        assert!(decoder.kept() <= longest);
                    }
                    assert_eq!(end, expected, "{event} in pieces of {size}");
                }
            }
        }
        assert_eq!(Decoder::default().longest, LONGEST);
    }

    #[test]
    fn a_refused_event_stops_the_rest() {
        let mut seen = 0;
        let mut decoder = Decoder::default();
        let end = decoder.push(b"data: 1\n\ndata: 2\n\n", |_| {
            seen += 1;
            Err(TooLong)
        });
        assert_eq!((end, seen), (Err(TooLong), 1));
    }
}
