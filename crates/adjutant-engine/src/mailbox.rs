//! What an agent has yet to hear.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{AgentPath, When};
use tokio::sync::Notify;

use crate::roster::Entry;

/// How many unheard messages an agent keeps.
const CAPACITY: usize = 256;

/// Something to be heard.
pub(crate) enum Letter {
    /// A message.
    Message { from: Option<AgentPath>, text: String, when: When },
    /// A background child ended.
    Ended(Arc<Entry>),
    /// A child that stays has said its say, and rests.
    Rested { from: AgentPath, text: String },
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
                Letter::Rested { from, .. } => letters.forget_rest(from),
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

    /// Closes the mailbox with whatever is in it.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
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
    fn forget_rest(&mut self, child: &AgentPath) {
        self.unheard
            .retain(|letter| !matches!(letter, Letter::Rested { from, .. } if from == child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(when: When) -> Letter {
        Letter::Message { from: None, text: String::new(), when }
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
            let (from, text) = (AgentPath::root().child("a", 1), number.to_string());
            mailbox.post(Letter::Rested { from, text }).unwrap();
        }
        let letters = mailbox.take_all();
        assert!(letters.len() <= CAPACITY, "{}", letters.len());
        let last = (2 * CAPACITY - 1).to_string();
        assert!(matches!(letters.last(), Some(Letter::Rested { text, .. }) if *text == last));
    }
}
