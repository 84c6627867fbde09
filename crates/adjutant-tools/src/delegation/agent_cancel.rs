//! `agent_cancel`: the end of an agent and of everyone below it.

use adjutant_core::{Effect, Host, Refusal, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{delegation, json, result};
use crate::typed::TypedTool;

pub(crate) struct AgentCancel;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The sub-agent's id or path.
    agent_id: String,
}

#[derive(Serialize)]
struct Response {
    success: bool,
    previous_state: &'static str,
    message: String,
    /// What was left undone, such as messages it did not hear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl TypedTool for AgentCancel {
    type Args = Args;
    const NAME: &'static str = "agent_cancel";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Stops a running sub-agent and everyone below it, and returns when they are gone. \
         agent_status has what it found so far."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.agent_id.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let delegation = delegation(host)?;
        let (success, state) = match delegation.cancel(&args.agent_id).await {
            Ok(state) => (true, result::state(state)),
            Err(Refusal::Ended { state, .. }) => (false, result::state(state)),
            Err(refusal) => return Err(refusal.into()),
        };
        let message = if success {
            "Sub-agent cancelled successfully".to_owned()
        } else {
            format!(
                "Cannot cancel sub-agent: already {state} (only running agents can be cancelled)"
            )
        };
        // One that had ended by itself has its result told elsewhere.
        let report = if success { delegation.status(&args.agent_id)?.report } else { None };
        let notes = report.map(|report| report.receipt.notes()).unwrap_or_default();
        json(&Response { success, previous_state: state, message, notes })
    }
}
