//! `agent_status`: how one agent stands.

use adjutant_core::{Effect, Host, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{delegation, json, report};
use crate::typed::TypedTool;

pub(crate) struct AgentStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The sub-agent's id or path.
    agent_id: String,
}

#[derive(Serialize)]
struct Response {
    agent_id: String,
    path: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    is_final: bool,
    duration_ms: u64,
    tokens_used: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl TypedTool for AgentStatus {
    type Args = Args;
    const NAME: &'static str = "agent_status";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Tells how a sub-agent stands, and what it found if it has ended. You are told when one \
         ends, so there is no need to ask again and again."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.agent_id.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let status = delegation(host)?.status(&args.agent_id)?;
        let report = status.report.as_ref();
        json(&Response {
            agent_id: status.id.to_string(),
            path: status.path.to_string(),
            state: report::state(status.state),
            output: report.map(report::text).filter(|text| !text.is_empty()),
            error: report.and_then(report::failure),
            is_final: status.state.is_final(),
            duration_ms: status.millis,
            tokens_used: status.tokens,
            notes: report.map(|report| report::notes(&report.receipt)).unwrap_or_default(),
        })
    }
}
