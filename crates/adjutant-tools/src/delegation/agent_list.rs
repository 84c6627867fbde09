//! `agent_list`: how everyone below stands.

use adjutant_core::{Effect, Host, Status, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{delegation, json, result};
use crate::typed::TypedTool;

pub(crate) struct AgentList;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Response {
    agents: Vec<Entry>,
    running_count: usize,
    completed_count: usize,
    failed_count: usize,
    cancelled_count: usize,
    total_count: usize,
}

#[derive(Serialize)]
struct Entry {
    id: String,
    name: String,
    path: String,
    state: &'static str,
    depth: usize,
    running_ms: u64,
}

impl From<&Status> for Entry {
    fn from(status: &Status) -> Self {
        let name = status.path.as_str().rsplit('.').next().unwrap_or_default();
        let kind = if name.starts_with("fork-") { "fork" } else { "sub-agent" };
        Self {
            id: status.id.to_string(),
            name: result::name(kind, status.id),
            path: status.path.to_string(),
            state: result::state(status.state),
            depth: status.path.depth(),
            running_ms: status.millis,
        }
    }
}

impl TypedTool for AgentList {
    type Args = Args;
    const NAME: &'static str = "agent_list";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Lists all sub-agents below you with their states. agent_status has the result of one."
            .into()
    }

    fn summary(&self, _: &Args) -> String {
        "all sub-agents".into()
    }

    async fn run(&self, _: Args, host: &dyn Host) -> Result<String, ToolError> {
        let agents: Vec<Entry> = delegation(host)?.list().iter().map(Entry::from).collect();
        let count = |state: &str| agents.iter().filter(|agent| agent.state == state).count();
        json(&Response {
            running_count: count("running"),
            completed_count: count("completed"),
            failed_count: count("failed"),
            cancelled_count: count("cancelled"),
            total_count: agents.len(),
            agents,
        })
    }
}
