//! Tools that speak to other agents. Each makes an order or a request of its arguments,
//! hands it to the runtime, and puts the answer into words. Nothing is run here.

mod agent_cancel;
mod agent_list;
mod agent_spawn;
mod agent_status;
mod report;
mod sub_agent;

use std::num::NonZeroU64;

use adjutant_core::{Allowance, Delegation, Host, Refusal, ToolError};
use serde::Serialize;

pub(crate) use agent_cancel::AgentCancel;
pub(crate) use agent_list::AgentList;
pub(crate) use agent_spawn::AgentSpawn;
pub(crate) use agent_status::AgentStatus;
pub(crate) use sub_agent::SubAgent;

/// What a child may spend when the call does not say.
#[derive(Clone, Copy, Debug)]
pub struct DelegationSettings {
    /// A child of `sub_agent`. The time is how long the call waits.
    pub sub_agent: Allowance,
    /// A child of `agent_spawn`.
    pub agent_spawn: Allowance,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            sub_agent: Allowance { millis: NonZeroU64::new(120_000), ..Allowance::default() },
            agent_spawn: Allowance { tokens: NonZeroU64::new(50_000), ..Allowance::default() },
        }
    }
}

fn delegation(host: &dyn Host) -> Result<&dyn Delegation, ToolError> {
    host.delegation().ok_or_else(|| Refusal::TooDeep.into())
}

fn task(prompt: String) -> Result<String, ToolError> {
    if prompt.trim().is_empty() { Err(Refusal::NoTask.into()) } else { Ok(prompt) }
}

fn json(answer: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(answer).map_err(|error| ToolError(error.to_string()))
}
