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
}

impl WireLog {
    /// Encodes the messages that are not in the log yet. What was encoded in another
    /// format, or of a conversation that has become shorter, is begun anew.
    pub fn extend(
        &mut self,
        format: &Arc<str>,
        messages: &[Arc<Message>],
        mut encode: impl FnMut(&Message, &mut Vec<u8>),
    ) {
        let is_other = self.format.as_ref() != Some(format) || self.messages > messages.len();
        if is_other {
            *self = Self { format: Some(Arc::clone(format)), ..Self::default() };
        }
        let mut new = Vec::new();
        for message in &messages[self.messages..] {
            encode(message, &mut new);
        }
        self.messages = messages.len();
        if !new.is_empty() {
            self.push(new.into());
        }
    }

    /// Returns the encoded messages, in pieces that follow one another.
    pub fn chunks(&self) -> &[Bytes] {
        &self.chunks
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
        log.extend(&format.into(), messages, |message, bytes| {
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
}
