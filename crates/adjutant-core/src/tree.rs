//! The state of a whole tree, folded from its events.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    AgentId, AgentPath, Ask, CallId, Event, EventKind, Message, Micros, Millis, Mode, Note,
    Outcome, QuestionId, Receipt, Seq, State, Usage,
};

/// Every agent of a session and how it stands, in the order they started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    places: HashMap<AgentPath, usize>,
    questions: Vec<Question>,
    notes: BTreeMap<String, Note>,
    seq: Seq,
}

/// An agent, as its events tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub path: AgentPath,
    /// Who it is.
    pub id: AgentId,
    /// The parent's call that started it.
    pub call: Option<CallId>,
    /// The named agent it is.
    pub agent: Option<String>,
    /// What it was asked to do.
    pub task: String,
    /// The model it runs on.
    pub model: Arc<str>,
    /// How freely it acts.
    pub mode: Mode,
    /// How it stands.
    pub state: State,
    /// The calls that run, with the tool and a line about each.
    pub running: Vec<(CallId, String, String)>,
    /// How many messages its conversation has had.
    pub messages: usize,
    /// How many tools it has called.
    pub calls: u64,
    /// Its own tokens.
    pub usage: Usage,
    /// Its own money.
    pub micros: Micros,
    /// When it started.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// What came of it.
    pub outcome: Option<Arc<Outcome>>,
    /// The facts of it.
    pub receipt: Option<Arc<Receipt>>,
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// Who asks.
    pub path: AgentPath,
    /// What is asked.
    pub ask: Arc<Ask>,
}

impl Tree {
    /// Folds events, in their order.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut tree = Self::default();
        events.into_iter().for_each(|event| tree.apply(event));
        tree
    }

    /// Follows one event. Fragments change nothing.
    pub fn apply(&mut self, event: &Event) {
        if !event.kind.is_kept() {
            return;
        }
        self.seq = event.seq;
        if let EventKind::Started { order, model, mode, .. } = &event.kind {
            let node = Node {
                path: event.path.clone(),
                id: event.id,
                call: event.call.clone(),
                agent: order.agent.clone(),
                task: order.task.clone(),
                model: Arc::clone(model),
                mode: *mode,
                state: State::Running,
                running: Vec::new(),
                messages: 0,
                calls: 0,
                usage: Usage::default(),
                micros: 0,
                started: event.at,
                ended: None,
                outcome: None,
                receipt: None,
            };
            self.place(node);
        } else if let Some(place) = self.places.get(&event.path) {
            self.nodes[*place].apply(event);
        }
        self.follow_questions(event);
        self.follow_notes(event);
    }

    /// Adds an agent. One that was there before goes on, with what it had said and spent.
    fn place(&mut self, node: Node) {
        match self.places.get(&node.path) {
            Some(place) => {
                let Node { messages, calls, usage, micros, started, .. } = self.nodes[*place];
                self.nodes[*place] = Node { messages, calls, usage, micros, started, ..node };
            }
            None => {
                self.places.insert(node.path.clone(), self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    fn follow_questions(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Asked { question, ask, .. } => {
                let (id, path, ask) = (*question, event.path.clone(), Arc::clone(ask));
                self.questions.push(Question { id, path, ask });
            }
            EventKind::Answered { question, .. } | EventKind::Withdrawn { question } => {
                self.questions.retain(|open| open.id != *question);
            }
            _ => {}
        }
        let asks = self.questions.iter().any(|open| open.path == event.path);
        if let Some(place) = self.places.get(&event.path) {
            let node = &mut self.nodes[*place];
            match node.state {
                State::Running if asks => node.state = State::Waiting,
                State::Waiting if !asks => node.state = State::Running,
                _ => {}
            }
        }
    }

    fn follow_notes(&mut self, event: &Event) {
        let EventKind::Noted { key, value } = &event.kind else { return };
        match value.clone() {
            Some(value) => {
                let (key, by) = (key.clone(), event.path.clone());
                self.notes.insert(key.clone(), Note { key, value, by });
            }
            None => drop(self.notes.remove(key)),
        }
    }

    /// Returns the agents in the order they started.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns an agent.
    pub fn node(&self, path: &AgentPath) -> Option<&Node> {
        self.places.get(path).map(|place| &self.nodes[*place])
    }

    /// Returns an agent's children in the order they started.
    pub fn children<'a>(&'a self, parent: &'a AgentPath) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(move |node| node.path.parent().as_ref() == Some(parent))
    }

    /// Returns the open questions, the oldest first.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns what the agents wrote down for one another, in the order of the keys.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.notes.values()
    }

    /// Returns the position of the last event.
    pub fn seq(&self) -> Seq {
        self.seq
    }
}

impl Node {
    fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Said { message } => self.hear(message),
            EventKind::Called { call_id, tool, summary } => {
                self.calls += 1;
                self.running.push((call_id.clone(), tool.clone(), summary.clone()));
            }
            EventKind::Spent { usage, micros, .. } => {
                self.usage += *usage;
                self.micros += micros;
            }
            EventKind::Rested => self.state = State::Resting,
            EventKind::Finished { outcome, receipt } => {
                self.state = outcome.ending.into();
                self.ended = Some(event.at);
                self.running.clear();
                self.outcome = Some(Arc::clone(outcome));
                self.receipt = Some(Arc::clone(receipt));
            }
            EventKind::Started { .. }
            | EventKind::Saying { .. }
            | EventKind::Progressed { .. }
            | EventKind::Changed { .. }
            | EventKind::Asked { .. }
            | EventKind::Answered { .. }
            | EventKind::Withdrawn { .. }
            | EventKind::Retrying { .. }
            | EventKind::Compacted { .. }
            | EventKind::Mailed { .. }
            | EventKind::Planned { .. }
            | EventKind::TaskEnded { .. }
            | EventKind::Noted { .. } => {}
        }
    }

    fn hear(&mut self, message: &Message) {
        self.messages += 1;
        if self.state == State::Resting {
            self.state = State::Running;
        }
        if let Message::Tools { .. } = message {
            self.running.clear();
        }
    }
}
