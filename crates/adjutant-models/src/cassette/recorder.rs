//! Models that are listened to.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use adjutant_core::{
    AgentPath, Delta, Message, Model, ModelError, ModelInfo, Models, Part, Request, StopReason,
    ToolChoice, ToolSpec, Usage, WireLog,
};
use futures_util::{Stream, StreamExt as _, future::BoxFuture, stream::BoxStream};
use serde_json::Value;

use super::{
    Cassette,
    conversation::{Conversation, News, is_notice},
    follow::{FollowSteps, Step},
    redact::Redactor,
    save,
};

/// Finds models elsewhere and notes every exchange with them.
pub struct Recorder {
    models: Arc<dyn Models>,
    tape: Arc<Tape>,
}

impl Recorder {
    /// Listens to these models.
    pub fn new(models: Arc<dyn Models>) -> Self {
        Self { models, tape: Arc::default() }
    }

    /// Returns what was noted so far of a tree that works in a directory.
    pub fn cassette(&self, directory: &Path, redactor: Redactor) -> Cassette {
        save::cassette(&self.tape.lock(), directory, redactor)
    }
}

impl Models for Recorder {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let found = self.models.find(name);
        let noted = found.as_ref().map(|model| model.info().clone()).map_err(Clone::clone);
        self.tape.lock().models.insert(name.to_owned(), noted);
        let tape = Arc::clone(&self.tape);
        found.map(|model| Arc::new(Recorded { model, tape }) as Arc<dyn Model>)
    }
}

impl FollowSteps for Recorder {
    fn follow(&self, step: Step, agent: AgentPath) -> BoxFuture<'static, ()> {
        if step == Step::Heard {
            self.tape.lock().went_on(&agent);
        }
        let tape = Arc::clone(&self.tape);
        Box::pin(async move {
            if step == Step::Ended {
                tape.lock().went_on(&agent);
            }
        })
    }
}

struct Recorded {
    model: Arc<dyn Model>,
    tape: Arc<Tape>,
}

impl Model for Recorded {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream(
        &self,
        request: Request<'_>,
        wire: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let take = self.tape.lock().asked(&self.info().name, &request);
        let (agent, tape) = (request.agent.clone(), Arc::clone(&self.tape));
        let answer = self.model.stream(request, wire);
        Tap { answer, agent, take, tape, heard: Some(Heard::default()) }.boxed()
    }
}

/// Everything that was noted.
#[derive(Default)]
struct Tape(Mutex<Notes>);

impl Tape {
    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(super) struct Notes {
    pub(super) models: BTreeMap<String, Result<ModelInfo, ModelError>>,
    pub(super) agents: HashMap<AgentPath, Log>,
    /// Whose steps followed one another. One that came to nothing is gone.
    pub(super) steps: Vec<Option<AgentPath>>,
    /// Whether any agent worked while its parent did.
    pub(super) is_side_by_side: bool,
    /// How often anybody asked.
    pub(super) asked: u64,
}

/// What was noted of an agent.
#[derive(Default)]
pub(super) struct Log {
    conversation: Conversation,
    pub(super) takes: Vec<Take>,
    answered: usize,
    /// Its step after the last answer, among all steps.
    next: Option<usize>,
    /// How often its parent had asked when it began.
    parent_asked: usize,
}

/// An exchange.
pub(super) struct Take {
    pub(super) turn: u64,
    pub(super) manner: Arc<Manner>,
    pub(super) choice: ToolChoice,
    /// Whether the beginning of the conversation had changed.
    pub(super) is_anew: bool,
    pub(super) new: Vec<Arc<Message>>,
    pub(super) heard: Heard,
    pub(super) end: Ending,
}

/// What seldom changes from exchange to exchange.
pub(super) struct Manner {
    pub(super) model: Arc<str>,
    pub(super) system: String,
    pub(super) tools: Vec<Arc<ToolSpec>>,
    pub(super) schema: Option<Value>,
}

/// What was heard of an answer.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) parts: Vec<Part>,
    pub(super) shown: String,
    pub(super) thought: String,
    pub(super) usage: Option<Usage>,
}

/// How an answer ended.
pub(super) enum Ending {
    Stop(StopReason),
    Failed(ModelError),
    /// It was over before it was complete.
    Over,
    /// Nobody listened any more, when this many requests had been made by anybody.
    Cut(u64),
}

impl Notes {
    /// Notes a request and returns its number among those of its agent.
    fn asked(&mut self, model: &Arc<str>, request: &Request<'_>) -> usize {
        self.asked += 1;
        let parent = request.agent.parent().and_then(|parent| self.agents.get(&parent));
        let (parent_asked, is_parent_asking) =
            parent.map_or((0, false), |parent| (parent.takes.len(), parent.is_asking()));
        let log = self.agents.entry(request.agent.clone()).or_default();
        let is_first = log.takes.is_empty();
        if is_first {
            log.parent_asked = parent_asked;
        }
        let manner = log.manner(model, request);
        let (is_anew, new) = log.news(request.messages);
        self.is_side_by_side |=
            is_first && is_parent_asking || new.iter().any(|new| is_notice(new));
        let (heard, end) = (Heard::default(), Ending::Over);
        let Request { turn, choice, .. } = *request;
        log.takes.push(Take { turn, manner, choice, is_anew, new, heard, end });
        let number = log.takes.len();
        // What it had heard of before is all it knows.
        if !is_first && log.next.take().is_none() {
            self.step(request.agent);
        }
        number
    }

    fn answered(&mut self, agent: &AgentPath, take: usize, heard: Heard, end: Ending) {
        let Some(log) = self.agents.get_mut(agent) else { return };
        log.answered = take;
        if let Some(take) = log.takes.get_mut(take - 1) {
            (take.heard, take.end) = (heard, end);
        }
        self.step(agent);
    }

    /// Notes what an agent does after an answer. Only the last thing it does before it asks
    /// again counts.
    fn went_on(&mut self, agent: &AgentPath) {
        let Some(log) = self.agents.get_mut(agent) else { return };
        if let Some(before) = log.next.replace(self.steps.len()) {
            self.steps[before] = None;
        }
        self.step(agent);
    }

    fn step(&mut self, agent: &AgentPath) {
        self.steps.push(Some(agent.clone()));
        let parent = agent.parent().and_then(|parent| self.agents.get(&parent));
        if let (Some(parent), Some(log)) = (parent, self.agents.get(agent)) {
            self.is_side_by_side |= parent.takes.len() != log.parent_asked || parent.is_asking();
        }
    }
}

impl Log {
    fn is_asking(&self) -> bool {
        self.answered < self.takes.len()
    }

    fn manner(&self, model: &Arc<str>, request: &Request<'_>) -> Arc<Manner> {
        let Request { system, tools, schema, .. } = *request;
        let same = |(one, other): (&Arc<ToolSpec>, &Arc<ToolSpec>)| Arc::ptr_eq(one, other);
        if let Some(Take { manner, .. }) = self.takes.last()
            && manner.model == *model
            && manner.system == system
            && manner.tools.len() == tools.len()
            && manner.tools.iter().zip(tools).all(same)
            && manner.schema.as_ref() == schema
        {
            return Arc::clone(manner);
        }
        Arc::new(Manner {
            model: Arc::clone(model),
            system: system.to_owned(),
            tools: tools.to_vec(),
            schema: schema.cloned(),
        })
    }

    /// Returns what is new in the conversation, and whether its beginning is. The last reply
    /// is not new if it is there as it was heard.
    fn news(&mut self, messages: &[Arc<Message>]) -> (bool, Vec<Arc<Message>>) {
        let new = match self.conversation.look(messages) {
            News::All(_) => return (true, messages.to_vec()),
            News::More(new) => new,
        };
        let said = self.takes.last().filter(|take| matches!(take.end, Ending::Stop(_)));
        let Some(said) = said else { return (false, new.to_vec()) };
        match new.split_first() {
            Some((first, new)) if is_reply(first, &said.heard.parts) => (false, new.to_vec()),
            _ => (true, messages.to_vec()),
        }
    }
}

fn is_reply(message: &Message, said: &[Part]) -> bool {
    matches!(message, Message::Assistant { parts } if parts == said)
}

/// An answer that is listened to.
struct Tap {
    answer: BoxStream<'static, Result<Delta, ModelError>>,
    agent: AgentPath,
    take: usize,
    tape: Arc<Tape>,
    /// Gone when the answer has ended.
    heard: Option<Heard>,
}

impl Tap {
    fn hear(&mut self, next: Option<&Result<Delta, ModelError>>) {
        let Some(heard) = &mut self.heard else { return };
        match next {
            Some(Ok(Delta::Text(text))) => heard.shown.push_str(text),
            Some(Ok(Delta::Reasoning(text))) => heard.thought.push_str(text),
            Some(Ok(Delta::Part(part))) => heard.parts.push(part.clone()),
            Some(Ok(Delta::Usage(usage))) => heard.usage = Some(*usage),
            Some(Ok(Delta::Stop(stop))) => self.end(|_| Ending::Stop(*stop)),
            Some(Err(error)) => self.end(|_| Ending::Failed(error.clone())),
            None => self.end(|_| Ending::Over),
        }
    }

    fn end(&mut self, end: impl FnOnce(&Notes) -> Ending) {
        let Some(heard) = self.heard.take() else { return };
        let mut notes = self.tape.lock();
        let end = end(&notes);
        notes.answered(&self.agent, self.take, heard, end);
    }
}

impl Stream for Tap {
    type Item = Result<Delta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.answer.poll_next_unpin(cx);
        if let Poll::Ready(next) = &next {
            self.hear(next.as_ref());
        }
        next
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.end(|notes| Ending::Cut(notes.asked));
    }
}
