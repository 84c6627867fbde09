//! What the document on Meerkat's sub-agents promises, in its order: the tools, starting,
//! watching, limits, budgets, models, comms.

mod budgets;
mod comms;
mod limits;
mod models;
mod starting;
mod tool_access;
mod tools;
mod watching;

use std::sync::Arc;

use adjutant_core::{Event, EventKind, Message, Origin, Outcome, ToolResult};
use serde_json::{Value, json};

use crate::support::{Done, World};

/// The five tools.
const FIVE: [&str; 5] = ["agent_spawn", "agent_fork", "agent_status", "agent_cancel", "agent_list"];

/// Lets the root wait, where a test has to know that something is over. The document has nothing
/// for it: its agents are told.
const WAITING: [&str; 2] = [
    "-c",
    "sub_agents.tools=['agent_spawn','agent_fork','agent_status','agent_cancel','agent_list',\
     'agent_wait']",
];

/// A turn in which the root waits.
fn waits(agents: &[&str]) -> Value {
    calls("root", &[("agent_wait", json!({ "agent_ids": agents }))])
}

/// A turn in which an agent calls tools.
fn calls(agent: &str, calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter().map(|(tool, args)| json!({ "tool": tool, "args": args }));
    json!({ "agent": agent, "calls": calls.collect::<Vec<_>>() })
}

/// A turn in which an agent says something.
fn says(agent: &str, text: &str) -> Value {
    json!({ "agent": agent, "text": text })
}

/// The turns of a root that says no more than `done`, however often it is told something.
fn ends() -> Value {
    json!({ "agent": "root", "text": "done", "times": "any" })
}

/// A turn in which an agent says nothing, ever.
fn hangs(agent: &str) -> Value {
    json!({ "agent": agent, "hang": true })
}

/// Calls `agent_spawn`.
fn spawn(args: Value) -> (&'static str, Value) {
    ("agent_spawn", task(args))
}

/// Calls `agent_fork`.
fn fork(args: Value) -> (&'static str, Value) {
    ("agent_fork", task(args))
}

fn task(mut args: Value) -> Value {
    args.as_object_mut().unwrap().entry("prompt").or_insert("look around".into());
    args
}

/// Has a model that says this.
fn script(world: World, replies: &[Value]) -> World {
    world.script(&toml::to_string(&json!({ "reply": replies })).unwrap())
}

/// What a run did.
struct Walk {
    done: Done,
    events: Vec<Event>,
}

/// Runs agents that say this. Those below the root run on its model, unless a call says
/// otherwise.
fn walk(replies: &[Value], more: &[&str]) -> Walk {
    walk_in(&script(World::new(), replies), more)
}

fn walk_in(world: &World, more: &[&str]) -> Walk {
    let usual = ["run", "--events", "-c", "preset=meerkat"];
    let own = ["-c", "sub_agents.default_provider=scripted"];
    let done = world.run(&[&usual[..], &own, more, &["go"]].concat());
    let events = done.events();
    assert!(events.iter().any(|it| it.path.depth() == 0 && is_end(&it.kind)), "{}", done.stderr);
    Walk { done, events }
}

fn is_end(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Finished { .. })
}

impl Walk {
    fn at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a EventKind> {
        self.events.iter().filter(move |it| it.path.as_str() == path).map(|it| &it.kind)
    }

    fn messages<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Message> {
        self.at(path).filter_map(|kind| match kind {
            EventKind::Said { message } => Some(&**message),
            _ => None,
        })
    }

    /// Returns what came of an agent's calls.
    fn results(&self, path: &str) -> Vec<ToolResult> {
        let results = self.messages(path).filter_map(|message| match message {
            Message::Tools { results } => Some(results.clone()),
            _ => None,
        });
        results.flatten().collect()
    }

    /// Returns what came of one of the root's calls, which was refused.
    fn error(&self, place: usize) -> String {
        let result = &self.results("root")[place];
        assert!(result.failed, "{}", result.text);
        result.text.clone()
    }

    /// Returns what came of one of the root's calls.
    fn answer(&self, place: usize) -> Value {
        let results = self.results("root");
        assert!(!results[place].failed, "{}", results[place].text);
        serde_json::from_str(&results[place].text).unwrap()
    }

    /// Returns what an agent was told of ends below it.
    fn news(&self, path: &str) -> Vec<String> {
        let is_news = |message: &&Message| {
            matches!(message, Message::User { origin: Origin::Runtime { ended }, .. }
                if !ended.is_empty())
        };
        self.messages(path).filter(is_news).map(Message::text).collect()
    }

    /// Returns how an agent began, as it is recorded.
    fn started(&self, path: &str) -> Value {
        let mut started = self.at(path).filter(|kind| matches!(kind, EventKind::Started { .. }));
        let started = started.next().unwrap_or_else(|| panic!("no {path}: {}", self.done.stderr));
        serde_json::to_value(started).unwrap()
    }

    fn tools(&self, path: &str) -> Vec<String> {
        serde_json::from_value(self.started(path)["tools"].clone()).unwrap()
    }

    fn outcome(&self, path: &str) -> Arc<Outcome> {
        let end = self.at(path).find_map(|kind| match kind {
            EventKind::Finished { outcome, .. } => Some(Arc::clone(outcome)),
            _ => None,
        });
        end.unwrap_or_else(|| panic!("{path} has not ended: {}", self.done.stderr))
    }

    /// Returns where among the events an agent's first of a kind is.
    fn place(&self, path: &str, is_it: impl Fn(&EventKind) -> bool) -> usize {
        let is_it = |it: &Event| it.path.as_str() == path && is_it(&it.kind);
        self.events.iter().position(is_it).unwrap()
    }
}
