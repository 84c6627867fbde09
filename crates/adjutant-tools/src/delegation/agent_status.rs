//! `agent_status`: how one agent stands.

use std::sync::Arc;

use adjutant_core::{Effect, Ending, Host, ReadOn, Report, State, Status, ToolError, telling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DelegationSettings, delegation, json, result};
use crate::typed::TypedTool;

pub(crate) struct AgentStatus(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The sub-agent's id or path.
    agent_id: String,
    /// From which byte of its output on (default: 0).
    offset: Option<usize>,
}

/// What is told of an agent that rests.
const RESTS: &str = "it has done what it was told: `agent_send` gives it more to do; until then \
                     there is nothing to wait for";

/// How an agent stands.
#[derive(Serialize)]
pub(super) struct Standing {
    agent_id: String,
    path: String,
    state: &'static str,
    /// It has done what it was told, and stays for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    resting: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// What it says while it is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    so_far: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    is_final: bool,
    duration_ms: u64,
    tokens_used: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Standing {
    /// Tells how an agent stands, with its words from some byte on.
    pub(super) fn of(status: &Status, offset: usize, read_on: ReadOn) -> Self {
        let report = status.report.as_ref();
        let output = report.map(|report| report.words(offset, read_on));
        let so_far = || telling::words(status.id, &status.words, offset, read_on);
        let is_resting = status.state == State::Resting;
        Self {
            agent_id: status.id.to_string(),
            path: status.path.to_string(),
            state: result::state(status.state),
            resting: is_resting.then_some(true),
            output: output.filter(|text| !text.is_empty()),
            so_far: report.is_none().then(so_far),
            error: report.and_then(result::failure),
            is_final: status.state.is_final(),
            duration_ms: status.millis,
            tokens_used: status.tokens,
            notes: match report {
                Some(report) => notes(report),
                None if is_resting => vec![RESTS.to_owned()],
                None => Vec::new(),
            },
        }
    }
}

/// Returns what else there is to know of how an agent ended.
fn notes(report: &Report) -> Vec<String> {
    let Report { outcome, receipt, .. } = report;
    let cut = outcome.reason.clone().filter(|_| outcome.ending == Ending::Completed);
    let cost = receipt.cost().map(|cost| format!("cost {cost}"));
    cut.into_iter().chain(cost).chain(receipt.facts()).collect()
}

impl TypedTool for AgentStatus {
    type Args = Args;
    const NAME: &'static str = "agent_status";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Tells how a sub-agent stands, what it has said so far, and what it found if it has \
         ended. You are told when one ends, so there is no need to ask again and again."
            .into()
    }

    fn refine(&self, parameters: &mut Value) {
        self.0.withhold(&[], parameters);
    }

    fn summary(&self, args: &Args) -> String {
        args.agent_id.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        self.0.refuse(&[("offset", args.offset.is_some())])?;
        let status = delegation(host)?.status(&args.agent_id)?;
        json(&Standing::of(&status, args.offset.unwrap_or_default(), self.0.read_on()))
    }
}
