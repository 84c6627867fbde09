//! A conversation, cheap to share.

use std::sync::Arc;

use crate::{EventKind, Message, Origin, ToolResult, WireLog};

/// An agent's conversation. Clones share what is there; a fork that goes its own
/// way copies pointers, never messages.
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: Arc<Vec<Arc<Message>>>,
    wire: WireLog,
}

impl History {
    /// Adds a message.
    pub fn push(&mut self, message: Arc<Message>) {
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// Puts `with` in the place of the first `upto` messages.
    pub fn compact(&mut self, upto: usize, with: &[Arc<Message>]) {
        self.wire = WireLog::default();
        let messages = Arc::make_mut(&mut self.messages);
        let upto = upto.min(messages.len());
        messages.splice(..upto, with.iter().cloned());
    }

    /// Leaves out all but the last messages, or one more, so that no result stands without its
    /// call. The model is told that there was more.
    pub fn keep_last(&mut self, last: usize) {
        let mut first = self.messages.len().saturating_sub(last);
        if matches!(self.messages.get(first).map(|message| &**message), Some(Message::Tools { .. }))
        {
            first = first.saturating_sub(1);
        }
        if first > 0 {
            let origin = Origin::Runtime { ended: Vec::new() };
            let note = format!("[from the runtime: {first} earlier messages are left out]");
            self.compact(first, &[Arc::new(Message::user(origin, note))]);
        }
    }

    /// Returns the messages with the beginnings of long results in their places.
    pub fn with_short_results(&self, longest: usize) -> Vec<Arc<Message>> {
        let short = |message: &Arc<Message>| match &**message {
            Message::Tools { results } if results.iter().any(|it| it.text.len() > longest) => {
                let results = results.iter().map(|result| result.shortened(longest)).collect();
                Arc::new(Message::Tools { results })
            }
            _ => Arc::clone(message),
        };
        self.messages.iter().map(short).collect()
    }

    /// Follows the agent's own events.
    pub fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Said { message } => self.push(Arc::clone(message)),
            EventKind::Compacted { upto, with } => self.compact(*upto, with),
            _ => {}
        }
    }

    /// Answers every call that has no result yet, so that the conversation can
    /// be sent to a model.
    pub fn close(&mut self, placeholder: &str) {
        let Some(last) = self.messages.last() else { return };
        let open: Vec<ToolResult> =
            last.calls().map(|call| ToolResult::failure(call.id.clone(), placeholder)).collect();
        if !open.is_empty() {
            self.push(Arc::new(Message::Tools { results: open }));
        }
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the messages, and what is kept of them as they were sent.
    pub fn to_send(&mut self) -> (&[Arc<Message>], &mut WireLog) {
        (&self.messages, &mut self.wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, Part, ToolCall};

    fn say(text: &str) -> Arc<Message> {
        Arc::new(Message::user(Origin::Person, text))
    }

    #[test]
    fn compaction_replaces_the_beginning_and_keeps_the_rest() {
        let mut history = History::default();
        for text in ["one", "two", "three"] {
            history.apply(&EventKind::Said { message: say(text) });
        }
        history.apply(&EventKind::Compacted { upto: 2, with: vec![say("one and two")] });
        let texts: Vec<_> = history.messages().iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["one and two", "three"]);
    }

    #[test]
    fn a_pending_call_is_closed_once() {
        let call = ToolCall {
            id: "c1".into(),
            name: "x".into(),
            arguments: serde_json::Value::Null,
            native: None,
        };
        let mut history = History::default();
        history.push(Arc::new(Message::Assistant { parts: vec![Part::Call(call)] }));
        history.close("forked");
        history.close("forked");
        assert_eq!(history.messages().len(), 2);
    }

    #[test]
    fn a_fork_does_not_change_what_it_came_from() {
        let mut parent = History::default();
        parent.push(say("one"));
        let mut fork = parent.clone();
        fork.push(say("two"));
        assert_eq!(parent.messages().len(), 1);
        assert!(Arc::ptr_eq(&parent.messages()[0], &fork.messages()[0]));
    }
}
