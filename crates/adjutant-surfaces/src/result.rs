//! The whole run as one JSON object, for programs that wait for the end.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    time::Duration,
};

use adjutant_core::{
    AgentId, AgentPath, Artifact, Ask, Cause, Clamp, Detail, Ending, Handover, Node, Receipt,
    SessionId, Tree, Usage,
};
use adjutant_engine::Seen;
use serde::Serialize;

use crate::{Ended, View, view::NO_HURRY};

/// Writes a [`RunResult`] at the end, and nothing before.
pub struct Json {
    session: SessionId,
    writer: Box<dyn Write + Send>,
}

impl Json {
    /// Writes the result of `session` to `writer`.
    pub fn new(session: SessionId, writer: Box<dyn Write + Send>) -> Self {
        Self { session, writer }
    }
}

impl View for Json {
    fn show(&mut self, _: &Tree, _: &Seen) -> io::Result<()> {
        Ok(())
    }

    fn detail(&self) -> Option<Detail> {
        Some(Detail::Kept)
    }

    fn breath(&self) -> Option<Duration> {
        Some(NO_HURRY)
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        serde_json::to_writer(&mut self.writer, &RunResult::new(self.session, ended))?;
        self.writer.write_all(b"\n")?;
        self.writer.flush()
    }
}

/// What came of a run. Sums and lists are of the whole tree, and are made from what
/// the runtime saw, never from what a model said.
#[derive(Debug, Serialize)]
pub struct RunResult<'a> {
    /// The session, to resume or look at later.
    pub session: SessionId,
    /// The named agent the root was; `null` if it was none.
    pub agent: Option<&'a str>,
    /// How the root ended.
    pub ending: Ending,
    /// The root's last words.
    pub text: &'a str,
    /// Why it did not complete; `null` if it did.
    pub reason: Option<&'a str>,
    /// Why it failed, in one word; `null` if it did not.
    pub cause: Option<Cause>,
    /// The model the root ran on.
    pub model: &'a str,
    /// From the root's start to its end.
    pub duration_ms: u64,
    /// Model calls.
    pub turns: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens.
    pub tokens: Usage,
    /// Money, as far as prices are known.
    pub cost_usd: f64,
    /// Every agent, the root first, in the order they started.
    pub agents: Vec<Agent<'a>>,
    /// Files that were read.
    pub files_read: BTreeSet<&'a str>,
    /// Files that were written or removed.
    pub files_modified: BTreeSet<&'a str>,
    /// Commands that were run.
    pub commands: Vec<Ran<'a>>,
    /// Files that were handed back.
    pub artifacts: Vec<HandedBack<'a>>,
    /// Questions that nobody was there to answer.
    pub unanswered: Vec<Unanswered<'a>>,
    /// What agents asked for and did not get in full.
    pub clamped: Vec<Clamped<'a>>,
    /// What agents started and could not be seen to end.
    pub uncontained: Vec<Uncontained<'a>>,
    /// Hooks that failed and had no say.
    pub failed_hooks: Vec<FailedHook<'a>>,
    /// What became of the changes of agents that had a worktree of their own.
    pub handovers: Vec<Handed<'a>>,
}

/// One agent of a run.
#[derive(Debug, Serialize)]
pub struct Agent<'a> {
    /// Where it stood.
    pub path: &'a AgentPath,
    /// The named agent it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a str>,
    /// Who it was.
    pub id: AgentId,
    /// How it ended, or how it stood if it had not.
    pub state: String,
    /// The model it ran on.
    pub model: &'a str,
    /// Its own tokens.
    pub tokens: Usage,
    /// Its own tool calls.
    pub calls: u64,
    /// From its start to its end; `null` if it had not ended.
    pub duration_ms: Option<u64>,
    /// Its last words; `null` if it had not ended.
    pub text: Option<&'a str>,
    /// Why it did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

/// A command that was run.
#[derive(Debug, Serialize)]
pub struct Ran<'a> {
    /// By whom.
    pub agent: &'a AgentPath,
    /// The command.
    pub command: &'a str,
    /// Its exit code; `null` if a signal ended it.
    pub code: Option<i32>,
}

/// A file that was handed back.
#[derive(Debug, Serialize)]
pub struct HandedBack<'a> {
    /// By whom.
    pub agent: &'a AgentPath,
    /// Where it is, and how long.
    #[serde(flatten)]
    pub artifact: &'a Artifact,
}

/// A question that nobody was there to answer.
#[derive(Debug, Serialize)]
pub struct Unanswered<'a> {
    /// Who asked.
    pub agent: &'a AgentPath,
    /// What was asked.
    #[serde(flatten)]
    pub ask: &'a Ask,
}

/// Something an agent asked for and did not get in full.
#[derive(Debug, Serialize)]
pub struct Clamped<'a> {
    /// Who asked.
    pub agent: &'a AgentPath,
    /// For what, how much, and what was given.
    #[serde(flatten)]
    pub clamp: &'a Clamp,
}

/// Something an agent started and could not be seen to end.
#[derive(Debug, Serialize)]
pub struct Uncontained<'a> {
    /// Who started it.
    pub agent: &'a AgentPath,
    /// What it is.
    pub what: &'a str,
}

/// A hook that failed and had no say.
#[derive(Debug, Serialize)]
pub struct FailedHook<'a> {
    /// Whose occasion it was.
    pub agent: &'a AgentPath,
    /// Which hook, and why it failed.
    pub why: &'a str,
}

/// What became of the changes of an agent that had a worktree of its own.
#[derive(Debug, Serialize)]
pub struct Handed<'a> {
    /// Who made them.
    pub agent: &'a AgentPath,
    /// Which they are, and what became of them.
    #[serde(flatten)]
    pub handover: &'a Handover,
}

impl<'a> RunResult<'a> {
    /// Gathers the result of a session that ended.
    pub fn new(session: SessionId, ended: &'a Ended) -> Self {
        let nodes = ended.tree.nodes();
        let mut tokens = Usage::default();
        nodes.iter().for_each(|node| tokens += node.usage);
        let micros: u64 = nodes.iter().map(|node| node.micros).sum();
        let unanswered = ended.unanswered.iter();
        let root = ended.tree.node(&AgentPath::root());
        Self {
            session,
            agent: root.and_then(|root| root.agent.as_deref()),
            ending: ended.outcome.ending,
            text: &ended.outcome.text,
            reason: ended.outcome.reason.as_deref(),
            cause: ended.outcome.cause,
            model: root.map_or("", |root| &root.model),
            duration_ms: ended.receipt.millis,
            turns: receipts(nodes).map(|(_, receipt)| receipt.turns).sum(),
            tool_calls: nodes.iter().map(|node| node.calls).sum(),
            tokens,
            cost_usd: micros as f64 / 1e6,
            agents: nodes.iter().map(Agent::new).collect(),
            files_read: receipts(nodes).flat_map(|(_, it)| &it.read).map(String::as_str).collect(),
            files_modified: receipts(nodes)
                .flat_map(|(_, it)| &it.modified)
                .map(String::as_str)
                .collect(),
            commands: receipts(nodes).flat_map(commands).collect(),
            artifacts: receipts(nodes).flat_map(artifacts).collect(),
            unanswered: unanswered.map(|it| Unanswered { agent: &it.path, ask: &it.ask }).collect(),
            clamped: receipts(nodes).flat_map(clamped).collect(),
            uncontained: receipts(nodes).flat_map(uncontained).collect(),
            failed_hooks: receipts(nodes).flat_map(failed_hooks).collect(),
            handovers: receipts(nodes).filter_map(handed).collect(),
        }
    }
}

impl<'a> Agent<'a> {
    fn new(node: &'a Node) -> Self {
        let outcome = node.outcome.as_deref();
        let state = || node.state.name().to_owned();
        Self {
            path: &node.path,
            agent: node.agent.as_deref(),
            id: node.id,
            state: outcome.map_or_else(state, |outcome| outcome.ending.to_string()),
            model: &node.model,
            tokens: node.usage,
            calls: node.calls,
            duration_ms: node.ended.map(|ended| ended.saturating_sub(node.started)),
            text: outcome.map(|outcome| outcome.text.as_str()),
            reason: outcome.and_then(|outcome| outcome.reason.as_deref()),
        }
    }
}

type Facts<'a> = (&'a AgentPath, &'a Receipt);

fn receipts(nodes: &[Node]) -> impl Iterator<Item = Facts<'_>> {
    nodes.iter().filter_map(|node| Some((&node.path, node.receipt.as_deref()?)))
}

fn commands<'a>((agent, receipt): Facts<'a>) -> impl Iterator<Item = Ran<'a>> {
    receipt.commands.iter().map(move |(command, code)| Ran { agent, command, code: *code })
}

fn artifacts<'a>((agent, receipt): Facts<'a>) -> impl Iterator<Item = HandedBack<'a>> {
    receipt.artifacts.iter().map(move |artifact| HandedBack { agent, artifact })
}

fn clamped<'a>((agent, receipt): Facts<'a>) -> impl Iterator<Item = Clamped<'a>> {
    receipt.clamped.iter().map(move |clamp| Clamped { agent, clamp })
}

fn uncontained<'a>((agent, receipt): Facts<'a>) -> impl Iterator<Item = Uncontained<'a>> {
    receipt.uncontained.iter().map(move |what| Uncontained { agent, what })
}

fn failed_hooks<'a>((agent, receipt): Facts<'a>) -> impl Iterator<Item = FailedHook<'a>> {
    receipt.failed_hooks.iter().map(move |why| FailedHook { agent, why })
}

fn handed<'a>((agent, receipt): Facts<'a>) -> Option<Handed<'a>> {
    receipt.handover.as_ref().map(|handover| Handed { agent, handover })
}

#[cfg(test)]
mod tests {
    use adjutant_core::{Answer, Fact, Handed as Became, Outcome};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{
        fixture::{Paper, Story, currency},
        follow::Follower,
    };

    fn kept() -> Handover {
        Handover {
            patch: Some("/kept/a.patch".into()),
            directory: "/project".into(),
            files: vec!["c.txt".into()],
            handed: Became::Kept { why: "it was stopped".into(), worktree: "/kept/a".into() },
            left_out: Vec::new(),
        }
    }

    fn story() -> Story {
        let mut receipt = Receipt { turns: 3, millis: 9000, ..Receipt::default() };
        receipt.note(&Fact::Read { path: "b.txt".into() });
        receipt.note(&Fact::Modified { path: "c.txt".into() });
        let mut below = Receipt { turns: 2, uncontained: vec!["pid 7".into()], ..receipt.clone() };
        below.note(&Fact::Read { path: "a.txt".into() });
        below.note(&Fact::Kept(Artifact { path: "/kept/a.md".into(), bytes: 7 }));
        below.note(&Fact::Ran { command: "make".into(), code: Some(2) });
        let (what, asked, given) = ("mode".into(), "auto".into(), "ask".into());
        below.clamped.push(Clamp { what, asked, given });
        below.failed_hooks.insert("`log`: no".into());
        below.handover = Some(kept());
        Story::default()
            .start("root", "go")
            .spend("root", 1_000_000, 20)
            .call("root", "sub_agent", "part")
            .start("root.a-1", "part")
            .spend("root.a-1", 500_000, 3)
            .ask("root.a-1", 1, currency())
            .answer("root.a-1", 1, Answer::Unattended)
            .finish("root.a-1", Outcome::short(Ending::BudgetExceeded, "", "spent"), below)
            .finish("root", Outcome::completed("four"), receipt)
    }

    /// Returns the one line that is written at the end.
    fn told() -> serde_json::Value {
        let paper = Paper::default();
        let mut view = Json::new(Uuid::nil().into(), Box::new(paper.clone()));
        let mut follower = Follower::new(&mut view, None);
        story().seen().for_each(|seen| follower.see(&seen).unwrap());
        assert_eq!(paper.text(), "");
        follower.end().unwrap();
        assert_eq!(paper.text().lines().count(), 1);
        serde_json::from_str(&paper.text()).unwrap()
    }

    #[test]
    fn the_result_tells_of_the_whole_tree() {
        let expected = json!({
            "session": "00000000-0000-0000-0000-000000000000",
            "agent": null,
            "ending": "completed",
            "text": "four",
            "reason": null,
            "cause": null,
            "model": "scripted/one",
            "duration_ms": 9000,
            "turns": 5,
            "tool_calls": 1,
            "tokens": {"input": 1_500_000, "output": 23},
            "cost_usd": 1.500_023,
            "agents": [
                {
                    "path": "root",
                    "id": "00000000-0000-0000-0000-000000000004",
                    "state": "completed",
                    "model": "scripted/one",
                    "tokens": {"input": 1_000_000, "output": 20},
                    "calls": 1,
                    "duration_ms": 8000,
                    "text": "four",
                },
                {
                    "path": "root.a-1",
                    "id": "00000000-0000-0000-0000-000000000008",
                    "state": "budget_exceeded",
                    "model": "scripted/one",
                    "tokens": {"input": 500_000, "output": 3},
                    "calls": 0,
                    "duration_ms": 4000,
                    "text": "",
                    "reason": "spent",
                },
            ],
            "files_read": ["a.txt", "b.txt"],
            "files_modified": ["c.txt"],
            "commands": [{"agent": "root.a-1", "command": "make", "code": 2}],
            "artifacts": [{"agent": "root.a-1", "path": "/kept/a.md", "bytes": 7}],
            "unanswered": [{
                "agent": "root.a-1",
                "ask": "question",
                "prompt": "Which currency?",
                "choices": ["euro", "dollar"],
            }],
            "clamped": [{"agent": "root.a-1", "what": "mode", "asked": "auto", "given": "ask"}],
            "uncontained": [{"agent": "root.a-1", "what": "pid 7"}],
            "failed_hooks": [{"agent": "root.a-1", "why": "`log`: no"}],
            "handovers": [{
                "agent": "root.a-1",
                "patch": "/kept/a.patch",
                "directory": "/project",
                "files": ["c.txt"],
                "handed": "kept",
                "why": "it was stopped",
                "worktree": "/kept/a",
            }],
        });
        assert_eq!(told(), expected);
    }
}
