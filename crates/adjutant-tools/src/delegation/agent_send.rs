//! `agent_send`: a message to an agent below.

use adjutant_core::{Effect, Host, ToolError, When};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{delegation, json, result};
use crate::typed::TypedTool;

pub(crate) struct AgentSend;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The sub-agent's id or path.
    agent_id: String,
    /// What to tell it.
    message: String,
    /// queue: heard when it has done what it is doing; steer: heard before its next turn
    /// (default: queue).
    when: Option<Heard>,
}

/// When a message is heard.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Heard {
    Queue,
    Steer,
}

impl From<Heard> for When {
    fn from(heard: Heard) -> Self {
        match heard {
            Heard::Queue => Self::Queue,
            Heard::Steer => Self::Steer,
        }
    }
}

#[derive(Serialize)]
struct Response {
    success: bool,
    previous_state: &'static str,
    message: &'static str,
}

impl TypedTool for AgentSend {
    type Args = Args;
    const NAME: &'static str = "agent_send";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Sends a message to a sub-agent: to steer one that works, or to give one that has ended \
         something more to do, with all it knows. What it answers comes to you by itself."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.agent_id.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let Args { agent_id, message, when } = args;
        let text = super::said(message)?;
        let delegation = delegation(host)?;
        let below = delegation.list();
        let is_meant = |id: &str, path: &str| id == agent_id || path == agent_id;
        let before = below
            .iter()
            .find(|it| is_meant(&it.id.to_string(), it.path.as_str()))
            .map(|it| it.state);
        delegation.send(&agent_id, text, when.map_or(When::Queue, When::from)).await?;
        let is_revived = before.is_some_and(adjutant_core::State::is_final);
        let message = if is_revived {
            "It had ended, and goes on with your message."
        } else {
            "The message was sent."
        };
        let previous_state = before.map_or("running", result::state);
        json(&Response { success: true, previous_state, message })
    }
}
