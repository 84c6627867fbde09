//! What an agent has yet to hear.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{AgentPath, When};
use tokio::sync::Notify;

use crate::{roster::Entry, seat::Identity};

/// How many unheard messages an agent keeps.
const CAPACITY: usize = 256;
/// How many bytes are told of a message that was never heard.
const BEGINNING: usize = 120;

/// Something to be heard.
pub(crate) enum Letter {
    /// A message.
    Message { from: Option<AgentPath>, text: String, when: When },
    /// A background child ended.
    Ended(Arc<Entry>),
    /// A child that stays has said its say, and rests.
    Rested { from: Arc<Identity>, text: String },
}

/// Why a letter was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Full,
    Closed,
}

/// The letters of one agent.
#[derive(Default)]
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    arrived: Notify,
}

#[derive(Default)]
struct Letters {
    unheard: VecDeque<Letter>,
    is_closed: bool,
}

impl Mailbox {
    /// Adds a letter.
    pub(crate) fn post(&self, letter: Letter) -> Result<(), NotTaken> {
        self.post_with(letter, || ())
    }

    /// Adds a letter and does something else, or neither. Nobody hears the letter, and
    /// the mailbox is not closed, before it is done.
    pub(crate) fn post_with<T>(
        &self,
        letter: Letter,
        act: impl FnOnce() -> T,
    ) -> Result<T, NotTaken> {
        let mut letters = self.lock();
        if letters.is_closed {
            return Err(NotTaken::Closed);
        }
        // News of children is never turned away: a child ends once, and of those that rest again
        // and again the latest is news.
        if letters.unheard.len() >= CAPACITY {
            match &letter {
                Letter::Message { .. } => return Err(NotTaken::Full),
                Letter::Rested { from, .. } => letters.forget_rests(&from.path),
                Letter::Ended(_) => {}
            }
        }
        let done = act();
        letters.unheard.push_back(letter);
        drop(letters);
        self.arrived.notify_one();
        Ok(done)
    }

    /// Takes what is to be heard before the next turn.
    pub(crate) fn take_urgent(&self) -> Vec<Letter> {
        let mut letters = self.lock();
        let is_queued =
            |letter: &Letter| matches!(letter, Letter::Message { when: When::Queue, .. });
        let (queued, urgent) = letters.unheard.drain(..).partition::<VecDeque<_>, _>(is_queued);
        letters.unheard = queued;
        urgent.into()
    }

    /// Takes everything.
    pub(crate) fn take_all(&self) -> Vec<Letter> {
        self.lock().unheard.drain(..).collect()
    }

    /// Closes the mailbox unless something is in it, and reports whether it did. So
    /// no message is taken in by an agent that is about to leave.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut letters = self.lock();
        letters.is_closed = letters.unheard.is_empty();
        letters.is_closed
    }

    /// Closes the mailbox, and returns how the messages begin that were in it.
    pub(crate) fn close(&self) -> Vec<String> {
        let mut letters = self.lock();
        letters.is_closed = true;
        letters.unheard.drain(..).filter_map(beginning).collect()
    }

    /// Forgets that a child rested after those words, which the agent has from elsewhere.
    pub(crate) fn forget_rest(&self, child: &AgentPath, words: &str) {
        let is_it = |letter: &Letter| match letter {
            Letter::Rested { from, text } => from.path == *child && text == words,
            Letter::Message { .. } | Letter::Ended(_) => false,
        };
        self.lock().unheard.retain(|letter| !is_it(letter));
    }

    /// Reports whether everything was heard.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().unheard.is_empty()
    }

    /// Reports whether there is something that was said to the agent, and not only news.
    pub(crate) fn has_message(&self) -> bool {
        self.lock().unheard.iter().any(|letter| matches!(letter, Letter::Message { .. }))
    }

    /// Returns when something is there.
    pub(crate) async fn arrival(&self) {
        while self.is_empty() {
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Letters {
    /// Forgets that a child rested.
    fn forget_rests(&mut self, child: &AgentPath) {
        self.unheard
            .retain(|letter| !matches!(letter, Letter::Rested { from, .. } if from.path == *child));
    }
}

fn beginning(letter: Letter) -> Option<String> {
    let Letter::Message { mut text, .. } = letter else { return None };
    if text.len() > BEGINNING {
        text.truncate(text.floor_char_boundary(BEGINNING));
        text.push('…');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(when: When) -> Letter {
        Letter::Message { from: None, text: String::new(), when }
    }

    fn rested(path: &AgentPath, text: &str) -> Letter {
        let id = "019467d9-7e3a-7000-8000-000000000000".parse().unwrap();
        let from = Arc::new(Identity { path: path.clone(), id, call: None });
        Letter::Rested { from, text: text.to_owned() }
    }

    #[test]
    fn an_agent_cannot_leave_past_a_letter() {
        let mailbox = Mailbox::default();
        mailbox.post(message(When::Queue)).unwrap();
        assert!(!mailbox.close_if_empty());
        assert_eq!(mailbox.take_all().len(), 1);
        assert!(mailbox.close_if_empty());
        assert_eq!(mailbox.post(message(When::Steer)), Err(NotTaken::Closed));
    }

    #[test]
    fn what_was_not_heard_is_named_when_the_mailbox_is_closed() {
        let mailbox = Mailbox::default();
        mailbox.post(rested(&AgentPath::root().child("a", 1), "news")).unwrap();
        for text in ["short".to_owned(), "é".repeat(100)] {
            mailbox.post(Letter::Message { from: None, text, when: When::Queue }).unwrap();
        }
        assert_eq!(mailbox.close(), ["short".to_owned(), format!("{}…", "é".repeat(60))]);
        assert_eq!(mailbox.post(message(When::Steer)), Err(NotTaken::Closed));
    }

    #[test]
    fn a_rest_is_forgotten_only_with_the_words_it_came_after() {
        let mailbox = Mailbox::default();
        let child = AgentPath::root().child("a", 1);
        for text in ["one", "two"] {
            mailbox.post(rested(&child, text)).unwrap();
        }
        mailbox.forget_rest(&child, "one");
        mailbox.forget_rest(&child.child("b", 1), "two");
        let left = mailbox.take_all();
        assert!(matches!(&left[..], [Letter::Rested { text, .. }] if text == "two"));
    }

    #[test]
    fn steering_overtakes_what_is_queued() {
        let mailbox = Mailbox::default();
        mailbox.post(message(When::Steer)).unwrap();
        while mailbox.post(message(When::Queue)).is_ok() {}
        assert_eq!(mailbox.post(message(When::Steer)), Err(NotTaken::Full));
        assert_eq!(mailbox.take_urgent().len(), 1);
        assert_eq!(mailbox.take_all().len(), CAPACITY - 1);
    }
    #[test]
    fn a_child_that_rests_again_and_again_does_not_fill_the_mailbox() {
        let mailbox = Mailbox::default();
        for number in 0..2 * CAPACITY {
            mailbox.post(rested(&AgentPath::root().child("a", 1), &number.to_string())).unwrap();
        }
        let letters = mailbox.take_all();
        assert!(letters.len() <= CAPACITY, "{}", letters.len());
        let last = (2 * CAPACITY - 1).to_string();
        assert!(matches!(letters.last(), Some(Letter::Rested { text, .. }) if *text == last));
    }
}
