//! Events made by hand, and paper to write on.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use adjutant_core::{
    AgentId, AgentPath, Answer, Ask, Chosen, Effect, Ending, Event, EventKind, Message, Millis,
    Mode, Order, Outcome, Part, QuestionId, Receipt, ToolCall, Tree, Usage,
};
use adjutant_engine::Seen;
use serde_json::json;
use uuid::Uuid;

use crate::Ended;

/// What happens, one event after another, a second apart.
#[derive(Default)]
pub(crate) struct Story {
    pub(crate) events: Vec<Event>,
}

impl Story {
    pub(crate) fn then(mut self, path: &str, kind: EventKind) -> Self {
        let seq = self.events.len() as u64 + 1;
        let path: AgentPath = path.parse().unwrap();
        let id = AgentId::from(Uuid::from_u128(path.as_str().len() as u128));
        self.events.push(Event { seq, at: seq * 1000, path, id, call: None, kind });
        self
    }

    pub(crate) fn start(self, path: &str, task: &str) -> Self {
        self.then(path, started(task))
    }

    /// Starts a named agent.
    pub(crate) fn start_named(self, path: &str, agent: &str) -> Self {
        let mut started = started("x");
        if let EventKind::Started { order, .. } = &mut started {
            Arc::make_mut(order).agent = Some(agent.to_owned());
        }
        self.then(path, started)
    }

    pub(crate) fn call(self, path: &str, tool: &str, summary: &str) -> Self {
        self.then(path, called(tool, summary))
    }

    pub(crate) fn spend(self, path: &str, input: u64, output: u64) -> Self {
        let usage = Usage { input, output, ..Usage::default() };
        self.then(path, EventKind::Spent { usage, micros: input + output, estimated: false })
    }

    pub(crate) fn ask(self, path: &str, number: u128, ask: Ask) -> Self {
        let (question, call_id) = (question(number), "c".into());
        self.then(path, EventKind::Asked { question, call_id, ask: Arc::new(ask) })
    }

    pub(crate) fn answer(self, path: &str, number: u128, answer: Answer) -> Self {
        self.then(path, EventKind::Answered { question: question(number), answer })
    }

    pub(crate) fn finish(self, path: &str, outcome: Outcome, receipt: Receipt) -> Self {
        let (outcome, receipt) = (Arc::new(outcome), Arc::new(receipt));
        self.then(path, EventKind::Finished { outcome, receipt })
    }

    pub(crate) fn complete(self, path: &str, text: &str) -> Self {
        let receipt = Receipt { calls: 2, tokens: 1234, millis: 3400, ..Receipt::default() };
        self.finish(path, Outcome::completed(text), receipt)
    }

    pub(crate) fn fail(self, path: &str, reason: &str) -> Self {
        self.finish(path, Outcome::short(Ending::Failed, "", reason), Receipt::default())
    }

    pub(crate) fn end(&self) -> Ended {
        let tree = self.tree();
        let root = tree.node(&AgentPath::root()).unwrap().clone();
        let (outcome, receipt) = (root.outcome.unwrap(), root.receipt.unwrap());
        Ended { outcome, receipt, tree, unanswered: Vec::new() }
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree::fold(&self.events)
    }

    /// Returns the time of the last event.
    pub(crate) fn now(&self) -> Millis {
        self.events.last().map_or(0, |event| event.at)
    }

    pub(crate) fn seen(&self) -> impl Iterator<Item = Seen> {
        self.events.iter().map(|event| Seen::Event(Arc::new(event.clone())))
    }
}

pub(crate) fn started(task: &str) -> EventKind {
    EventKind::Started {
        order: Arc::new(Order { task: task.to_owned(), ..Order::default() }),
        model: "scripted/one".into(),
        chosen: Chosen::Named,
        mode: Mode::Ask,
        tools: Vec::new(),
        clamped: Vec::new(),
        inherited: 0,
        workdir: None,
    }
}

pub(crate) fn called(tool: &str, summary: &str) -> EventKind {
    let (tool, summary) = (tool.to_owned(), summary.to_owned());
    EventKind::Called { call_id: "c".into(), tool, summary }
}

pub(crate) fn said(text: &str) -> EventKind {
    EventKind::Said { message: Arc::new(Message::Assistant { parts: vec![Part::text(text)] }) }
}

pub(crate) fn question(number: u128) -> QuestionId {
    Uuid::from_u128(number).into()
}

pub(crate) fn currency() -> Ask {
    let choices = vec!["euro".to_owned(), "dollar".to_owned()];
    Ask::Question { prompt: "Which currency?".to_owned(), choices }
}

pub(crate) fn permission() -> Ask {
    let arguments = json!({"command": "make \u{1b}[8minstall", "timeout": 5});
    let call = ToolCall { id: "c".into(), name: "run_command".into(), arguments, native: None };
    Ask::Permission {
        call,
        effect: Effect::Execute,
        because: "of a rule".into(),
        rules: Vec::new(),
    }
}

/// Remembers what was written on it. Clones are the same paper.
#[derive(Clone, Default)]
pub(crate) struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
