//! What a session recorded of the files it changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use adjutant_core::{
    AgentId, AgentPath, CallId, Event, EventKind, Journal, JournalError, Seq, SessionId,
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
    /// The changes to each file, the oldest first.
    pub(super) files: BTreeMap<String, Vec<Step>>,
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
        let mut record = Self { session, root: None, files: BTreeMap::new() };
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

    fn add(&mut self, event: &Event) {
        if self.root.is_none() && event.path == AgentPath::root() {
            self.root = Some(event.id);
        }
        if let EventKind::Changed { call_id, file, before, after } = &event.kind {
            let step = Step {
                agent: event.path.clone(),
                call: CallId::clone(call_id),
                before: before.clone(),
                after: after.clone(),
                again: Vec::new(),
            };
            self.files.entry(file.clone()).or_default().push(step);
        }
    }

    /// Reports whether a file below a directory was changed.
    pub(super) fn is_below(&self, directory: &Path) -> bool {
        self.files.keys().any(|file| Path::new(file).starts_with(directory))
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

    /// Returns who changed files, and by which calls.
    pub(super) fn calls(&self) -> BTreeSet<(AgentPath, CallId)> {
        let steps = self.files.values().flatten();
        steps.map(|step| (step.agent.clone(), CallId::clone(&step.call))).collect()
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
        Record { session: Uuid::from_u128(1).into(), root: None, files }
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
        assert!(record.is_below(Path::new("/a")) && record.is_below(Path::new("/")));
        assert!(!record.is_below(Path::new("/a/bc")) && !record.is_below(Path::new("/b")));
    }
}
