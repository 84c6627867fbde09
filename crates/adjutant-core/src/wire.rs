//! A conversation as its provider is sent it, kept so that a turn encodes only what is
//! new.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::Message;

/// The encoded messages of a conversation, in the format of one model's adapter. Grows at
/// its end only. Clones, such as those of forks, share what is there.
#[derive(Clone, Debug, Default)]
pub struct WireLog {
    format: Option<Arc<str>>,
    messages: usize,
    chunks: Vec<Bytes>,
    /// Where the log ended before it grew last: what a provider has seen of it.
    seen: usize,
}

impl WireLog {
    /// Encodes the messages that are not in the log yet, each with those before it. What
    /// was encoded in another format, or of a conversation that has become shorter, is
    /// begun anew.
    pub fn extend(
        &mut self,
        format: &Arc<str>,
        messages: &[Arc<Message>],
        mut encode: impl FnMut(&[Arc<Message>], &Message, &mut Vec<u8>),
    ) {
        let is_other = self.format.as_ref() != Some(format) || self.messages > messages.len();
        if is_other {
            *self = Self { format: Some(Arc::clone(format)), ..Self::default() };
        }
        let mut new = Vec::new();
        for (place, message) in messages.iter().enumerate().skip(self.messages) {
            encode(&messages[..place], message, &mut new);
        }
        self.messages = messages.len();
        if !new.is_empty() {
            self.seen = self.chunks.iter().map(Bytes::len).sum();
            self.push(new.into());
        }
    }

    /// Returns the encoded messages, in pieces that follow one another.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
    }

    /// Returns the pieces with `mark` put in where the log ended before it grew last, so
    /// that a provider finds again what it has seen. Nothing is put in at the very
    /// beginning.
    pub fn marked(&self, mark: &Bytes) -> Vec<Bytes> {
        let mut pieces = Vec::with_capacity(self.chunks.len() + 2);
        let mut left = if mark.is_empty() { 0 } else { self.seen };
        for chunk in &self.chunks {
            if (1..=chunk.len()).contains(&left) {
                pieces.extend([chunk.slice(..left), mark.clone(), chunk.slice(left..)]);
                left = 0;
            } else {
                pieces.push(chunk.clone());
                left = left.saturating_sub(chunk.len());
            }
        }
        pieces
    }

    /// Joins pieces of like size, so that there are few of them and each byte is moved a
    /// few times at most, however long the conversation.
    fn push(&mut self, mut chunk: Bytes) {
        while let Some(last) = self.chunks.last()
            && last.len() <= chunk.len()
        {
            let mut joined = BytesMut::with_capacity(last.len() + chunk.len());
            joined.extend_from_slice(last);
            joined.extend_from_slice(&chunk);
            chunk = joined.freeze();
            self.chunks.pop();
        }
        self.chunks.push(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn say(text: &str) -> Arc<Message> {
        Arc::new(Message::user(Origin::Person, text))
    }

    fn text(log: &WireLog) -> String {
        String::from_utf8(log.chunks().concat()).unwrap()
    }

    fn extend(log: &mut WireLog, format: &str, messages: &[Arc<Message>]) -> usize {
        let mut encoded = 0;
        log.extend(&format.into(), messages, |_, message, bytes| {
            encoded += 1;
            bytes.extend_from_slice(message.text().as_bytes());
        });
        encoded
    }

    #[test]
    fn only_what_is_new_is_encoded_and_the_pieces_stay_few() {
        let (mut log, mut messages, mut whole) = (WireLog::default(), Vec::new(), String::new());
        for number in 0..1000 {
            let word = format!("{number},");
            whole.push_str(&word);
            messages.push(say(&word));
            assert_eq!(extend(&mut log, "a", &messages), 1);
        }
        assert_eq!(text(&log), whole);
        assert!(log.chunks().len() <= 12, "{}", log.chunks().len());
    }

    #[test]
    fn another_format_or_a_shorter_conversation_begins_anew() {
        let (mut log, messages) = (WireLog::default(), [say("one"), say("two")]);
        extend(&mut log, "a", &messages);
        assert_eq!(extend(&mut log, "b", &messages), 2);
        assert_eq!(extend(&mut log, "b", &messages[..1]), 1);
        assert_eq!(text(&log), "one");
    }

    #[test]
    fn a_fork_goes_its_own_way() {
        let (mut parent, one) = (WireLog::default(), [say("one"), say("two")]);
        extend(&mut parent, "a", &one[..1]);
        let mut fork = parent.clone();
        extend(&mut fork, "a", &one);
        assert_eq!((text(&parent).as_str(), text(&fork).as_str()), ("one", "onetwo"));
    }

    #[test]
    fn a_mark_is_where_the_last_request_ended() {
        let (mut log, mark) = (WireLog::default(), Bytes::from_static(b"|"));
        let messages: Vec<_> = (0..40).map(|number| say(&format!("{number},"))).collect();
        let marked =
            |log: &WireLog| String::from_utf8(log.marked(&mark).concat()).expect("plain text");
        extend(&mut log, "a", &messages[..1]);
        assert_eq!(marked(&log), "0,");
        for upto in 2..=messages.len() {
            let before = text(&log);
            extend(&mut log, "a", &messages[..upto]);
            let expected = format!("{before}|{},", upto - 1);
            assert_eq!(marked(&log), expected);
            // Once more, as when a call is tried again.
            extend(&mut log, "a", &messages[..upto]);
            assert_eq!(marked(&log), expected);
            assert_eq!(log.marked(&Bytes::new()), log.chunks());
        }
    }

    #[test]
    fn each_message_is_encoded_with_those_before_it() {
        let (mut log, messages) = (WireLog::default(), [say("one"), say("two"), say("three")]);
        for upto in [2, 3] {
            log.extend(&"a".into(), &messages[..upto], |before, _, bytes| {
                bytes.extend_from_slice(before.len().to_string().as_bytes());
            });
        }
        assert_eq!(text(&log), "012");
    }
}
