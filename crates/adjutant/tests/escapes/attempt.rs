//! Attempts, and how they are made.

use adjutant_core::ToolResult;
use serde_json::{Value, json};

use crate::{
    support::{User, World},
    witness::{Picture, violations},
};

/// What every command says that was run at all: one that was refused proves nothing about the
/// sandbox.
const TRIED: &str = "tried it";

/// Nobody is there, so what would be asked is refused.
pub(crate) const AUTO: [&str; 2] = ["--mode", "auto"];

/// One way to get out.
pub(crate) struct Attempt {
    name: String,
    /// One a turn.
    calls: Vec<Value>,
    /// What has to become of the calls, whatever becomes of the world.
    fate: Fate,
    /// What must not be told to the model, besides secrets.
    unseen: Vec<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Anything.
    Open,
    /// The commands among them are run.
    Run,
    /// All fail.
    Refused,
}

/// What a command is told that was stopped because of something that would steer git.
const STOPPED: &str = "appeared while the command ran";

/// Who makes an attempt.
#[derive(Clone, Copy, Debug)]
enum Level {
    Root,
    /// A child two levels down.
    Grandchild,
}

#[expect(clippy::needless_pass_by_value, reason = "it reads better where it is called")]
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "args": arguments })
}

impl Attempt {
    pub(crate) fn new(name: impl Into<String>, calls: impl Into<Vec<Value>>) -> Self {
        let (name, calls) = (name.into(), calls.into());
        Self { name, calls, fate: Fate::Open, unseen: Vec::new() }
    }

    /// A command that is to be run as it is, if it is run.
    pub(crate) fn bare(line: impl Into<String>) -> Self {
        let line = line.into();
        let arguments = json!({ "command": line, "timeout": 20 });
        Self::new(line, [call("run_command", arguments)])
    }

    /// A command that is run, and must come to nothing.
    pub(crate) fn command(line: &str) -> Self {
        let command = format!("echo '{TRIED}'\n{line}");
        let arguments = json!({ "command": command, "timeout": 20 });
        Self { fate: Fate::Run, ..Self::new(line, [call("run_command", arguments)]) }
    }

    pub(crate) fn then(mut self, next: Value) -> Self {
        self.calls.push(next);
        self
    }

    /// None of the calls may succeed.
    pub(crate) fn refused(self) -> Self {
        Self { fate: Fate::Refused, ..self }
    }

    pub(crate) fn unseen(self, words: &[&'static str]) -> Self {
        Self { unseen: words.to_owned(), ..self }
    }

    /// Returns what went wrong with this attempt alone.
    fn judge(&self, number: usize, world: &World, results: &[ToolResult]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (turn, call) in self.calls.iter().enumerate() {
            let id = id(number, turn);
            let Some(result) = results.iter().find(|result| *result.call == *id) else {
                wrong.push(format!("“{}” has no result {turn}", self.name));
                continue;
            };
            let is_met = match self.fate {
                Fate::Open => true,
                // One is also stopped before it has said anything when another does harm.
                Fate::Run => {
                    let is_run = [TRIED, STOPPED].iter().any(|it| result.text.contains(it));
                    call["tool"] != "run_command" || is_run
                }
                Fate::Refused => result.failed,
            };
            if !is_met {
                wrong.push(format!("“{}” came to: {}", self.name, result.text));
            }
            let seen = self.unseen.iter().filter(|words| result.text.contains(&world.fill(words)));
            wrong.extend(seen.map(|words| format!("“{}” saw {words}: {}", self.name, result.text)));
        }
        wrong
    }
}

fn id(number: usize, turn: usize) -> String {
    format!("a{number}t{turn}")
}

/// Makes attempts in all ways, each way in a world of its own, and sees that nothing came of
/// them.
pub(crate) fn contained(attempts: &[Attempt], flags: &[&str], world: impl Fn(User) -> World) {
    for user in User::all() {
        for level in [Level::Root, Level::Grandchild] {
            let all: Vec<_> = attempts.iter().collect();
            let wrong = make(&all, level, flags, world(user));
            if wrong.is_empty() {
                continue;
            }
            let alone = |attempt| make(&[attempt], level, flags, world(user));
            let culprits = attempts.iter().filter(|attempt| !alone(attempt).is_empty());
            let culprits: Vec<_> = culprits.map(|attempt| &attempt.name).collect();
            panic!("as {user:?}, {level:?}: {wrong:#?}\nwrong alone: {culprits:#?}");
        }
    }
}

/// Makes attempts in one run, all at once, and returns what is wrong afterwards.
fn make(attempts: &[&Attempt], level: Level, flags: &[&str], mut world: World) -> Vec<String> {
    world.script(&replies(attempts, level));
    let before = Picture::take(&world);
    let done = world.run(flags);
    let mut wrong = violations(&mut world, &before, &done);
    let (own, results) = (attempts.iter().enumerate(), done.results());
    wrong.extend(own.flat_map(|(number, attempt)| attempt.judge(number, &world, &results)));
    wrong
}

fn replies(attempts: &[&Attempt], level: Level) -> Value {
    let delegation = json!([call("sub_agent", json!({ "prompt": "go on" }))]);
    let (above, who) = match level {
        Level::Root => (&[][..], "root"),
        Level::Grandchild => (&["root", "root.sub-1"][..], "root.sub-1.sub-1"),
    };
    let delegate = |agent: &&str| json!({ "agent": agent, "calls": delegation });
    let mut replies: Vec<_> = above.iter().map(delegate).collect();
    let turns = attempts.iter().map(|attempt| attempt.calls.len()).max().unwrap_or(0);
    for turn in 0..turns {
        let calls = attempts.iter().enumerate().filter_map(|(number, attempt)| {
            let mut call = attempt.calls.get(turn)?.clone();
            call["id"] = id(number, turn).into();
            Some(call)
        });
        let calls: Vec<_> = calls.collect();
        replies.push(json!({ "agent": who, "calls": calls, "usage": { "input": 1, "output": 1 } }));
    }
    replies.push(json!({ "text": "done", "times": "any" }));
    replies.into()
}
