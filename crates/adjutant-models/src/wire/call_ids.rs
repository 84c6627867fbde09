//! The ids of calls, which tell results apart.

use std::collections::HashSet;

use adjutant_core::CallId;

/// The ids of an answer's calls.
#[derive(Debug)]
pub(crate) struct CallIds {
    /// How long the conversation was that is answered.
    messages: usize,
    given: HashSet<CallId>,
}

impl CallIds {
    pub(crate) fn new(messages: usize) -> Self {
        Self { messages, given: HashSet::new() }
    }

    /// Returns the id of the next call: the server's, unless it gave none or one that another
    /// call has. One that is made up is the only one of its conversation.
    pub(crate) fn give(&mut self, id: &str) -> CallId {
        let (mut id, mut place) = (CallId::from(id), self.given.len());
        while id.is_empty() || self.given.contains(&id) {
            id = format!("call_{}_{place}", self.messages).into();
            place += 1;
        }
        self.given.insert(CallId::clone(&id));
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_calls_have_the_same_id() {
        let mut ids = CallIds::new(3);
        let given = ["a", "", "a", "call_3_1", "call_3_5", ""].map(|id| ids.give(id));
        let expected = ["a", "call_3_1", "call_3_2", "call_3_3", "call_3_5", "call_3_6"];
        assert_eq!(given.map(|id| id.to_string()), expected);
    }
}
