//! What is told of a child that was started in the background.

use adjutant_core::{Peers, ReadOn, Report, Started};
use serde::Serialize;

use super::result;

#[derive(Serialize)]
pub(super) struct Spawned<'a> {
    agent_id: String,
    name: String,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    state: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_inherited: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comms: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl<'a> Spawned<'a> {
    /// Tells of a child that knows nothing but its task.
    pub(super) fn fresh(started: &'a Started, peers: Peers) -> Self {
        Self::now("sub-agent", started, peers)
    }

    /// Tells of a child that knows what its parent knows.
    pub(super) fn fork(started: &'a Started) -> Self {
        let messages_inherited = Some(started.inherited);
        Self { messages_inherited, ..Self::now("fork", started, Peers::Nobody) }
    }

    fn now(kind: &str, started: &'a Started, peers: Peers) -> Self {
        let Started { id, path, model, clamped, .. } = started;
        let (provider, model) = match model.split_once('/') {
            Some((provider, model)) => (Some(provider), model),
            None => (None, &**model),
        };
        let comms = format!(
            "Write to it with agent_send (agent_id: \"{id}\"); what it writes to you is heard \
             between your turns."
        );
        Self {
            agent_id: id.to_string(),
            name: result::name(kind, *id),
            path: path.as_str(),
            provider,
            model: Some(model),
            state: "running",
            message: "Sub-agent spawned successfully. Use agent_status to check progress. You \
                      are told when it ends, so there is no need to poll.",
            messages_inherited: None,
            output: None,
            comms: (peers != Peers::Nobody).then_some(comms),
            notes: clamped.iter().map(ToString::to_string).collect(),
        }
    }

    /// Tells of one that did the same before.
    pub(super) fn earlier(report: &'a Report, read_on: ReadOn) -> Self {
        Self {
            agent_id: report.id.to_string(),
            name: result::name("sub-agent", report.id),
            path: report.path.as_str(),
            provider: None,
            model: None,
            state: "completed",
            message: "An earlier sub-agent did just this, and nothing it looked at has changed \
                      since: this is its result. cache: false has it done again.",
            messages_inherited: None,
            output: Some(report.words(0, read_on)),
            comms: None,
            notes: report.receipt.facts(),
        }
    }
}
