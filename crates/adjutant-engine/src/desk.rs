//! Questions waiting for a person, of the whole tree.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::{AgentPath, Answer, QuestionId};
use tokio::{
    sync::{oneshot, watch},
    time::sleep,
};
use uuid::Uuid;

/// Where questions wait. Several may be open at once, from any depth.
pub(crate) struct Desk {
    open: Mutex<HashMap<QuestionId, Open>>,
    attendants: watch::Sender<usize>,
}

struct Open {
    path: AgentPath,
    answer: oneshot::Sender<Answer>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { open: Mutex::default(), attendants: watch::Sender::new(0) }
    }
}

impl Desk {
    /// Opens a question.
    pub(crate) fn open(&self, path: AgentPath) -> (QuestionId, oneshot::Receiver<Answer>) {
        let question = QuestionId::from(Uuid::now_v7());
        let (answer, receiver) = oneshot::channel();
        self.lock().insert(question, Open { path, answer });
        (question, receiver)
    }

    /// Answers a question and reports whether it was still open. The first answer
    /// counts.
    pub(crate) fn answer(&self, question: QuestionId, answer: Answer) -> bool {
        let open = self.lock().remove(&question);
        open.is_some_and(|open| open.answer.send(answer).is_ok())
    }

    /// Reports whether the question is open, and asked by that agent.
    pub(crate) fn is_open(&self, question: QuestionId, path: &AgentPath) -> bool {
        self.lock().get(&question).is_some_and(|open| open.path == *path)
    }

    /// Takes a question back.
    pub(crate) fn withdraw(&self, question: QuestionId) {
        self.lock().remove(&question);
    }

    /// Takes back all questions of an agent and names them.
    pub(crate) fn withdraw_all(&self, path: &AgentPath) -> Vec<QuestionId> {
        self.lock().extract_if(|_, open| open.path == *path).map(|(question, _)| question).collect()
    }

    /// Notes that somebody is there to answer.
    pub(crate) fn come(&self) {
        self.attendants.send_modify(|count| *count += 1);
    }

    /// Notes that somebody left.
    pub(crate) fn leave(&self) {
        self.attendants.send_modify(|count| *count -= 1);
    }

    /// Reports whether somebody is there.
    pub(crate) fn is_attended(&self) -> bool {
        *self.attendants.borrow() > 0
    }

    /// Returns when nobody has been there for a while.
    pub(crate) async fn deserted(&self, grace: Duration) {
        let mut attendants = self.attendants.subscribe();
        loop {
            // The sender is our own, so neither wait can fail.
            let _ = attendants.wait_for(|count| *count == 0).await;
            tokio::select! {
                () = sleep(grace) => return,
                _ = attendants.wait_for(|count| *count > 0) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QuestionId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
