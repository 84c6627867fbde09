//! Tools that speak to other agents. Each makes an order or a request of its arguments,
//! hands it to the runtime, and puts the answer into words. Nothing is run here.

mod agent_cancel;
mod agent_list;
mod agent_spawn;
mod agent_status;
mod report;
mod sub_agent;

use std::{num::NonZeroU64, sync::Arc};

use adjutant_core::{Allowance, AllowedModels, Delegation, Host, Refusal, ToolError};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use agent_cancel::AgentCancel;
pub(crate) use agent_list::AgentList;
pub(crate) use agent_spawn::AgentSpawn;
pub(crate) use agent_status::AgentStatus;
pub(crate) use sub_agent::SubAgent;

/// What a child is given when the call does not say, and what the call may say.
#[derive(Clone, Debug)]
pub struct DelegationSettings {
    /// What a child of `sub_agent` may spend. The time is how long the call waits.
    pub sub_agent: Allowance,
    /// What a child of `agent_spawn` may spend.
    pub agent_spawn: Allowance,
    /// The models a call may name. The runtime holds calls to it; here it is told.
    pub models: AllowedModels,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            sub_agent: Allowance { millis: NonZeroU64::new(120_000), ..Allowance::default() },
            agent_spawn: Allowance { tokens: NonZeroU64::new(50_000), ..Allowance::default() },
            models: AllowedModels::default(),
        }
    }
}

fn delegation(host: &dyn Host) -> Result<&dyn Delegation, ToolError> {
    host.delegation().ok_or_else(|| Refusal::TooDeep.into())
}

fn task(prompt: String) -> Result<String, ToolError> {
    if prompt.trim().is_empty() { Err(Refusal::NoTask.into()) } else { Ok(prompt) }
}

/// Says in the schema of the arguments which models may be named.
fn name_models(parameters: &mut Value, models: &AllowedModels) {
    let description = parameters.pointer_mut("/properties/model/description");
    if let (Some(Value::String(text)), false) = (description, models.is_empty()) {
        text.push_str(&format!(" There are: {models}; a star stands for any ending."));
    }
}

fn schema(written: Option<Map<String, Value>>) -> Option<Arc<Value>> {
    written.map(|written| Arc::new(Value::Object(written)))
}

fn json(answer: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(answer).map_err(|error| ToolError(error.to_string()))
}
