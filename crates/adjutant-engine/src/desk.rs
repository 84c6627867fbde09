//! Questions waiting for a person, of the whole tree.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

use adjutant_core::{AgentPath, Answer, Ask, CallId, EventKind, JournalError, QuestionId};
use tokio::{
    sync::{oneshot, watch},
    time::sleep,
};
use uuid::Uuid;

use crate::{ChildQuestions, about::About, seat::Seat};

/// Why an agent that may not ask is denied what would be asked.
const SILENCED: &str = "agents below the root may not ask for permission here";

/// Where questions wait. Several may be open at once, from any depth.
pub(crate) struct Desk {
    open: Mutex<HashMap<QuestionId, Open>>,
    attendants: watch::Sender<usize>,
}

struct Open {
    path: AgentPath,
    about: Option<Arc<About>>,
    answer: oneshot::Sender<Answer>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { open: Mutex::default(), attendants: watch::Sender::new(0) }
    }
}

impl Desk {
    /// Opens a question.
    fn open(
        &self,
        path: AgentPath,
        about: Option<Arc<About>>,
    ) -> (QuestionId, oneshot::Receiver<Answer>) {
        let question = QuestionId::from(Uuid::now_v7());
        let (answer, receiver) = oneshot::channel();
        self.lock().insert(question, Open { path, about, answer });
        (question, receiver)
    }

    /// Answers an agent's question, or tells why it cannot be answered so. The first answer
    /// that can be counts.
    pub(crate) fn answer(
        &self,
        question: QuestionId,
        path: &AgentPath,
        answer: Answer,
    ) -> Result<(), String> {
        let late = || format!("`{path}` does not ask that, or not any more");
        let mut questions = self.lock();
        let open = questions.get(&question).filter(|open| open.path == *path).ok_or_else(late)?;
        open.about.as_ref().map_or(Ok(()), |about| about.check(&answer))?;
        let open = questions.remove(&question).ok_or_else(late)?;
        open.answer.send(answer).map_err(|_| late())
    }

    /// Takes a question back.
    pub(crate) fn withdraw(&self, question: QuestionId) {
        self.lock().remove(&question);
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

/// A question that was asked. Dropped before it was answered, it is withdrawn.
struct Asked<'a> {
    seat: &'a Seat,
    question: QuestionId,
    is_open: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let Self { seat, question, is_open } = self;
        seat.shared.desk.withdraw(*question);
        if *is_open {
            let withdrawn = EventKind::Withdrawn { question: *question };
            // Handed over at once; there is nobody here to wait until it is kept.
            drop(seat.shared.write(&seat.entry.identity, vec![withdrawn]));
        }
    }
}

impl Seat {
    /// Asks a person. Nobody else waits meanwhile, and the clock stands still.
    pub(crate) async fn ask(
        &self,
        call: &CallId,
        ask: Ask,
        about: Option<Arc<About>>,
    ) -> Result<Answer, JournalError> {
        let desk = &self.shared.desk;
        let ask = Arc::new(ask);
        let (question, answer) = desk.open(self.path().clone(), about);
        let mut asked = Asked { seat: self, question, is_open: false };
        let event = EventKind::Asked { question, call_id: call.clone(), ask: Arc::clone(&ask) };
        let answered = |answer: &Answer| EventKind::Answered { question, answer: answer.clone() };
        if let Some(no) = self.silenced(&ask) {
            self.record(vec![event, answered(&no)]).await?;
            return Ok(no);
        }
        if !desk.is_attended() {
            self.shared.unanswered.store(true, Relaxed);
            self.record(vec![event, answered(&Answer::Unattended)]).await?;
            return Ok(Answer::Unattended);
        }
        asked.is_open = true;
        self.record(vec![event]).await?;
        let (_hold, _waits) = (self.entry.clock.hold(), self.entry.waits());
        let answer = tokio::select! {
            Ok(answer) = answer => answer,
            () = desk.deserted(self.shared.settings.question_grace) => {
                self.shared.unanswered.store(true, Relaxed);
                Answer::Unattended
            }
            () = self.work.cancelled() => return Ok(Answer::Unattended),
        };
        let answer = self.stand(answer, &ask).await;
        asked.is_open = false;
        self.record(vec![answered(&answer)]).await?;
        Ok(answer)
    }

    /// Reports whether it is an agent that may not ask.
    pub(crate) fn is_silent(&self) -> bool {
        let questions = self.shared.settings.child_questions;
        questions == ChildQuestions::Deny && self.path().depth() > 0
    }

    /// Answers what an agent below the root would ask, if that is not to be asked.
    fn silenced(&self, ask: &Ask) -> Option<Answer> {
        self.is_silent().then(|| match ask {
            Ask::Permission { .. } => Answer::Deny { reason: Some(SILENCED.to_owned()) },
            Ask::Question { .. } => Answer::Unattended,
        })
    }

    /// Takes note of a yes that stands, and returns it as it stands.
    async fn stand(&self, answer: Answer, ask: &Ask) -> Answer {
        match (answer, ask) {
            (Answer::AllowFromNowOn { rules, span }, Ask::Permission { rules: usual, .. }) => {
                let rules = if rules.is_empty() { usual.clone() } else { rules };
                let span = self.shared.standing.add(&rules, span).await;
                Answer::AllowFromNowOn { rules, span }
            }
            (answer, _) => answer,
        }
    }
}
