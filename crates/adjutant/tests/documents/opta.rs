//! What the opta preset promises.

mod budgets;
mod offers;
mod permissions;
mod plans;
mod results;

use adjutant_core::{Ending, Event, EventKind, Message, Mode, Order, Receipt, ToolResult};
use serde_json::{Value, json};

use crate::support::{Done, World};

/// What came of a run.
struct Ran {
    world: World,
    done: Done,
    events: Vec<Event>,
}

/// A world in which the models reply so.
fn world(replies: &Value) -> World {
    World::new().script(&toml::to_string(&json!({ "reply": replies })).unwrap())
}

/// Runs the replies in the mode `auto`, unless a flag says otherwise.
fn run(replies: &Value, flags: &[&str]) -> Ran {
    run_in(world(replies), flags)
}

fn run_in(world: World, flags: &[&str]) -> Ran {
    let usual = ["run", "--quiet", "--events", "-c", "preset=opta", "-c", "mode=auto"];
    let done = world.run(&[&usual, flags, &["go"]].concat());
    let events = done.events();
    Ran { world, done, events }
}

impl Ran {
    fn at(&self, path: &str) -> impl Iterator<Item = &EventKind> {
        self.events.iter().filter(move |event| event.path.as_str() == path).map(|event| &event.kind)
    }

    /// Returns what an agent's calls came to.
    fn results(&self, path: &str) -> Vec<ToolResult> {
        let results = self.at(path).filter_map(|kind| match kind {
            EventKind::Said { message } => match &**message {
                Message::Tools { results } => Some(results.clone()),
                _ => None,
            },
            _ => None,
        });
        results.flatten().collect()
    }

    /// Returns the first of them, if it succeeded.
    fn told(&self) -> String {
        let result = self.results("root").remove(0);
        assert!(!result.failed, "{}", result.text);
        result.text
    }

    /// Returns the first of them, if it failed.
    fn complaint(&self) -> String {
        let result = self.results("root").remove(0);
        assert!(result.failed, "{}", result.text);
        result.text
    }

    fn has_started(&self, path: &str) -> bool {
        self.at(path).any(|kind| matches!(kind, EventKind::Started { .. }))
    }

    fn started(&self, path: &str) -> (Order, Mode, Vec<String>) {
        let started = self.at(path).find_map(|kind| match kind {
            EventKind::Started { order, mode, tools, .. } => {
                Some((Order::clone(order), *mode, tools.clone()))
            }
            _ => None,
        });
        started.unwrap_or_else(|| panic!("`{path}` has not started: {:?}", self.done))
    }

    fn finished(&self, path: &str) -> (Ending, Receipt) {
        let finished = self.at(path).find_map(|kind| match kind {
            EventKind::Finished { outcome, receipt } => {
                Some((outcome.ending, Receipt::clone(receipt)))
            }
            _ => None,
        });
        finished.unwrap_or_else(|| panic!("`{path}` has not finished: {:?}", self.done))
    }

    fn position(&self, path: &str, want: impl Fn(&EventKind) -> bool) -> usize {
        let is_it = |event: &Event| event.path.as_str() == path && want(&event.kind);
        self.events.iter().position(is_it).unwrap()
    }
}

fn call(tool: &str, arguments: Value) -> Value {
    let mut call = json!({ "tool": tool });
    call["args"] = arguments;
    call
}

fn read(number: usize) -> Value {
    call("read_file", json!({ "path": "a.txt", "offset": number }))
}

/// Replies in which the root makes one call, and everybody else says what follows.
fn one_call(call: &Value, below: &[Value]) -> Value {
    let mut replies = vec![json!({ "agent": "root", "calls": [call] })];
    replies.extend(below.iter().cloned().map(|mut reply| {
        reply["agent"] = reply["agent"].as_str().unwrap_or("root.task-*").into();
        reply
    }));
    replies.push(json!({ "text": "done", "times": "any" }));
    Value::Array(replies)
}

/// Replies in which a child does what follows.
fn spawned(arguments: &Value, below: &[Value]) -> Value {
    let mut arguments = arguments.clone();
    arguments["task"] = arguments["task"].as_str().unwrap_or("find the auth bug").into();
    one_call(&call("spawn_agent", arguments), below)
}
