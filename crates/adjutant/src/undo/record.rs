//! What a session recorded of the files it changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use adjutant_core::{
    AgentId, AgentPath, CallId, Event, EventKind, Fact, Journal, JournalError, Message, Seq,
    SessionId, ToolResult,
};

use super::{plan::Wanted, trail::Step};

/// How many events are read at one time.
const PAGE: usize = 1000;

/// What a session recorded of the files it changed.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) session: SessionId,
    /// Who the root is.
    pub(super) root: Option<AgentId>,
    /// Where the root works, if that is known.
    workdir: Option<PathBuf>,
    /// The changes to each file, the oldest first.
    pub(super) files: BTreeMap<String, Vec<Step>>,
    /// Commands that have not ended, as far as it is known.
    running: BTreeMap<(AgentPath, CallId), String>,
    /// From which call on nobody looked what commands changed, and why.
    unwatched: Option<Unfinished>,
}

/// A command of which nobody knows what it changed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) session: SessionId,
    pub(super) agent: AgentPath,
    pub(super) call: CallId,
    /// What it was, in a line.
    pub(super) command: String,
    /// Why nobody looked, at this one and all that came after it; nothing, if it was not seen to
    /// end.
    pub(super) why: Option<String>,
}

/// What a name on the command line comes to in a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Nothing there has that name.
    Nothing,
    /// This.
    One(Wanted),
    /// Any of these.
    Several(Vec<String>),
}

impl Record {
    /// Reads a session.
    pub(super) async fn read(
        journal: &dyn Journal,
        session: SessionId,
    ) -> Result<Self, JournalError> {
        let mut record = Self::of(session);
        let mut after: Seq = 0;
        loop {
            let page = journal.read(session, after, PAGE).await?;
            page.iter().for_each(|event| record.add(event));
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.seq,
                _ => return Ok(record),
            }
        }
    }

    fn of(session: SessionId) -> Self {
        let (files, running) = (BTreeMap::new(), BTreeMap::new());
        Self { session, root: None, workdir: None, files, running, unwatched: None }
    }

    fn add(&mut self, event: &Event) {
        if self.root.is_none() && event.path == AgentPath::root() {
            self.root = Some(event.id);
        }
        let agent = event.path.clone();
        match &event.kind {
            EventKind::Started { workdir: Some(workdir), .. } if agent == AgentPath::root() => {
                self.workdir = Some(workdir.into());
            }
            EventKind::Changed { call_id, file, before, after } => {
                let (call, again) = (CallId::clone(call_id), Vec::new());
                let (before, after) = (before.clone(), after.clone());
                let step = Step { agent, call, before, after, again };
                self.files.entry(file.clone()).or_default().push(step);
            }
            EventKind::Called { call_id, tool, summary } if tool == "run_command" => {
                self.running.insert((agent, CallId::clone(call_id)), summary.clone());
            }
            EventKind::Said { message } => self.hear(&agent, message),
            // What was at work was ended before, and looked at.
            EventKind::Finished { receipt, .. } if receipt.uncontained.is_empty() => {
                self.running.retain(|(owner, _), _| *owner != agent);
            }
            _ => {}
        }
    }

    /// Forgets the commands that have ended, and none that goes on in the background or whose
    /// end nobody waited for.
    fn hear(&mut self, agent: &AgentPath, message: &Message) {
        let Message::Tools { results } = message else { return };
        for ToolResult { call, text, facts, failed, .. } in results {
            let unwatched = facts.iter().find_map(|fact| match fact {
                Fact::Unwatched { why } => Some(why),
                _ => None,
            });
            if let (Some(why), None) = (unwatched, &self.unwatched) {
                self.unwatched = Some(self.gap(agent, call, Some(why.clone())));
            }
            let goes_on = |fact: &Fact| matches!(fact, Fact::Ran { code: None, .. });
            let is_over =
                if *failed { text != ToolResult::GIVEN_UP } else { !facts.iter().any(goes_on) };
            if is_over {
                self.running.remove(&(agent.clone(), CallId::clone(call)));
            }
        }
    }

    /// Reports whether a file below a directory was changed, or may have been by a command of
    /// which that is not known.
    pub(super) fn may_be_below(&self, directory: &Path) -> bool {
        let is_below = |path: &Path| path.starts_with(directory);
        self.files.keys().any(|file| is_below(Path::new(file)))
            || (self.has_gaps() && self.workdir.as_deref().is_some_and(is_below))
    }

    /// Returns the wanted commands that did not end before the process did, and the one from
    /// which on nobody looked.
    pub(super) fn unfinished(&self, wanted: &Wanted) -> impl Iterator<Item = Unfinished> {
        let ours = self.running.keys().filter(|(agent, call)| wanted.is_of(agent, call));
        ours.map(|(agent, call)| self.gap(agent, call, None)).chain(self.unwatched.clone())
    }

    fn gap(&self, agent: &AgentPath, call: &CallId, why: Option<String>) -> Unfinished {
        let (agent, call) = (agent.clone(), CallId::clone(call));
        let command = self.running.get(&(agent.clone(), CallId::clone(&call)));
        let command = command.cloned().unwrap_or_default();
        Unfinished { session: self.session, agent, call, command, why }
    }

    fn has_gaps(&self) -> bool {
        !self.running.is_empty() || self.unwatched.is_some()
    }

    /// Reports whether something of it was undone before.
    pub(super) fn was_undone(&self) -> bool {
        self.files.values().flatten().any(Step::is_undoing)
    }

    /// Finds what is named: an agent's path, a call or the beginning of one, or both as
    /// `AGENT/CALL`.
    pub(super) fn find(&self, name: &str) -> Named {
        let calls = self.calls();
        let (top, call) =
            name.split_once('/').map_or((None, name), |(top, call)| (Some(top), call));
        let ours = || calls.iter().filter(|(agent, _)| top.is_none_or(|top| agent.as_str() == top));
        let mut called: Vec<_> = ours().filter(|(_, it)| **it == *call).collect();
        let agent = name.parse().ok().filter(|top| calls.iter().any(|(it, _)| it.is_within(top)));
        if called.is_empty() && agent.is_none() && !call.is_empty() {
            called = ours().filter(|(_, it)| it.starts_with(call)).collect();
        }
        match (agent, &called[..]) {
            (None, []) => Named::Nothing,
            (Some(agent), []) => Named::One(Wanted::Agent(agent)),
            (None, [(agent, call)]) => Named::One(Wanted::Call(agent.clone(), CallId::clone(call))),
            (agent, called) => {
                let called = called.iter().map(|(agent, call)| format!("{agent}/{call}"));
                Named::Several(agent.iter().map(AgentPath::to_string).chain(called).collect())
            }
        }
    }

    /// Returns who changed files or may have, and by which calls.
    pub(super) fn calls(&self) -> BTreeSet<(AgentPath, CallId)> {
        let steps = self.files.values().flatten();
        let changed = steps.map(|step| (step.agent.clone(), CallId::clone(&step.call)));
        changed.chain(self.running.keys().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn record(calls: &[(&str, &str)]) -> Record {
        let step = |(agent, call): &(&str, &str)| Step {
            agent: agent.parse().unwrap(),
            call: (*call).into(),
            before: None,
            after: None,
            again: Vec::new(),
        };
        let files = [("/a/b".to_owned(), calls.iter().map(step).collect())].into();
        Record { files, ..Record::of(Uuid::from_u128(1).into()) }
    }

    #[test]
    fn a_name_is_an_agent_or_a_call_and_never_both() {
        let record = record(&[
            ("root", "call_ab"),
            ("root", "call_ac"),
            ("root.a-1", "call_x"),
            ("root.a-2", "call_x"),
            ("root.a-1.b-1", "root.a-2"),
        ]);
        let agent = |path: &str| Named::One(Wanted::Agent(path.parse().unwrap()));
        let call =
            |path: &str, call: &str| Named::One(Wanted::Call(path.parse().unwrap(), call.into()));
        let several =
            |names: &[&str]| Named::Several(names.iter().map(|it| (*it).into()).collect());
        let table = [
            ("root", agent("root")),
            ("root.a-1", agent("root.a-1")),
            ("call_ab", call("root", "call_ab")),
            ("call_ac", call("root", "call_ac")),
            ("call_a", several(&["root/call_ab", "root/call_ac"])),
            ("call_x", several(&["root.a-1/call_x", "root.a-2/call_x"])),
            ("root.a-2/call_x", call("root.a-2", "call_x")),
            ("root/call_ab", call("root", "call_ab")),
            ("root.a-2", several(&["root.a-2", "root.a-1.b-1/root.a-2"])),
            ("root.c-1", Named::Nothing),
            ("nothing", Named::Nothing),
            ("", Named::Nothing),
        ];
        for (name, expected) in table {
            assert_eq!(record.find(name), expected, "{name}");
        }
    }

    #[test]
    fn a_directory_is_not_its_namesake() {
        let record = record(&[("root", "c1")]);
        assert!(record.may_be_below(Path::new("/a")) && record.may_be_below(Path::new("/")));
        assert!(!record.may_be_below(Path::new("/a/bc")) && !record.may_be_below(Path::new("/b")));
    }

    #[test]
    fn a_command_that_was_given_up_has_not_ended() {
        for (text, left) in [("[was stopped]", 0), (ToolResult::GIVEN_UP, 1)] {
            let mut record = record(&[]);
            record.running.insert((AgentPath::root(), "c1".into()), "make".to_owned());
            let results = vec![ToolResult::failure("c1".into(), text)];
            record.hear(&AgentPath::root(), &Message::Tools { results });
            assert_eq!(record.unfinished(&Wanted::All).count(), left, "{text}");
        }
    }

    #[test]
    fn it_is_known_from_which_command_on_nobody_looked() {
        let mut record = record(&[]);
        for call in ["c1", "c2"] {
            record.running.insert((AgentPath::root(), call.into()), "make".to_owned());
            let facts = vec![Fact::Unwatched { why: format!("{call} is slow") }];
            let result = ToolResult { facts, ..ToolResult::failure(call.into(), "") };
            record.hear(&AgentPath::root(), &Message::Tools { results: vec![result] });
        }
        let [gap] = &record.unfinished(&Wanted::All).collect::<Vec<_>>()[..] else { panic!() };
        let Unfinished { call, command, why, .. } = gap;
        assert_eq!((&**call, command.as_str(), why.as_deref()), ("c1", "make", Some("c1 is slow")));
    }

    #[test]
    fn a_command_that_did_not_end_is_of_the_directory_it_was_started_in() {
        let mut record = record(&[]);
        record.files.clear();
        record.running.insert((AgentPath::root(), "c1".into()), "make".to_owned());
        assert!(!record.may_be_below(Path::new("/x")));
        record.workdir = Some("/x/y".into());
        assert!(record.may_be_below(Path::new("/x")) && record.may_be_below(Path::new("/x/y")));
        assert!(!record.may_be_below(Path::new("/z")) && !record.may_be_below(Path::new("/x/yz")));
        record.running.clear();
        assert!(!record.may_be_below(Path::new("/x")));
    }
}
