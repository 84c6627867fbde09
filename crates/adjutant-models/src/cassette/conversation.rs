//! What is new in a conversation.

use std::sync::Arc;

use adjutant_core::{Message, Origin, Part};

/// A conversation, as it was when it was seen last.
#[derive(Default)]
pub(super) struct Conversation(Vec<Arc<Message>>);

/// What is new in a conversation.
#[derive(Debug, PartialEq)]
pub(super) enum News<'a> {
    /// It went on with these.
    More(&'a [Arc<Message>]),
    /// Its beginning has changed, so all of it is new.
    All(&'a [Arc<Message>]),
}

impl Conversation {
    /// Looks at the conversation again.
    pub(super) fn look<'a>(&mut self, messages: &'a [Arc<Message>]) -> News<'a> {
        let Self(known) = self;
        let same = |(one, other): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other);
        let goes_on = known.len() <= messages.len() && known.iter().zip(messages).all(same);
        if !goes_on {
            known.clear();
        }
        let (_, new) = messages.split_at(known.len());
        known.extend_from_slice(new);
        if goes_on { News::More(new) } else { News::All(new) }
    }
}

/// Puts notices of the ends of children that follow one another into one, as if they had
/// come together. Whether they do is a matter of moments.
pub(super) fn joined(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for message in messages {
        if !joined.last_mut().is_some_and(|last| join(last, &message)) {
            joined.push(message);
        }
    }
    joined
}

/// Reports whether a message tells of the ends of children.
pub(super) fn is_notice(message: &Message) -> bool {
    let Message::User { origin: Origin::Runtime { ended }, .. } = message else { return false };
    !ended.is_empty()
}

fn join(last: &mut Message, next: &Message) -> bool {
    if !is_notice(last) || !is_notice(next) {
        return false;
    }
    let Message::User { origin: Origin::Runtime { ended }, parts } = last else { return false };
    let Message::User { origin: Origin::Runtime { ended: more }, .. } = next else { return false };
    let [Part::Text { text, .. }] = parts.as_mut_slice() else { return false };
    // Both begin with the same line, which says what they are.
    let (next, first) = (next.text(), text.lines().next().unwrap_or_default());
    let Some(rest) = next.strip_prefix(first) else { return false };
    text.push_str(rest);
    ended.extend_from_slice(more);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_that_follow_one_another_are_one() {
        let notice = |ended: &[&str], text: &str| {
            let ended = ended.iter().map(|path| path.parse().unwrap()).collect();
            Message::user(Origin::Runtime { ended }, text)
        };
        let one = notice(&["root.a-1"], "[ended]\n\n[root.a-1 completed]\none");
        let two = notice(&["root.a-2"], "[ended]\n\n[root.a-2 completed]\ntwo");
        let both = notice(
            &["root.a-1", "root.a-2"],
            "[ended]\n\n[root.a-1 completed]\none\n\n[root.a-2 completed]\ntwo",
        );
        let (told, words) = (notice(&[], "[stop]"), Message::user(Origin::Person, "[ended]"));
        let apart = [words.clone(), one.clone(), words, told.clone(), told, one.clone()];
        assert_eq!(joined([one, two].into_iter()), [both]);
        assert_eq!(joined(apart.clone().into_iter()), apart);
    }

    #[test]
    fn only_what_was_not_seen_is_new() {
        let say = |text: &str| Arc::new(Message::user(Origin::Person, text));
        let messages = [say("one"), say("two"), say("three")];
        let mut conversation = Conversation::default();
        assert_eq!(conversation.look(&messages[..1]), News::More(&messages[..1]));
        assert_eq!(conversation.look(&messages[..1]), News::More(&[]));
        assert_eq!(conversation.look(&messages), News::More(&messages[1..]));
        assert_eq!(conversation.look(&messages[..2]), News::All(&messages[..2]));
        let masked = [say("…"), messages[1].clone(), say("four")];
        assert_eq!(conversation.look(&masked), News::All(&masked[..]));
    }
}
