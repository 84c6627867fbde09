//! Tools that speak to other agents. Each makes an order or a request of its arguments,
//! hands it to the runtime, and puts the answer into words. Nothing is run here.

mod agent_cancel;
mod agent_fork;
mod agent_list;
mod agent_send;
mod agent_spawn;
mod agent_status;
mod agent_wait;
mod blocking;
mod budget;
mod call_agent;
mod delegate_task;
mod extras;
mod files;
mod peers;
mod result;
mod send_message;
mod settings;
mod spawn_agent;
mod spawned;
mod sub_agent;
mod tool_access;

use std::sync::Arc;

use adjutant_core::{
    AllowedModels, Comms, Definitions, Delegation, Host, Peers, Refusal, Tool, ToolError,
};
use serde::Serialize;
use serde_json::Value;

pub use self::settings::{DelegationSettings, Earlier, Parameters, PlanSettings, Style};
use crate::{
    notes::{NotesRead, NotesWrite},
    typed::erase,
};

/// The names of all these tools.
pub const NAMES: [&str; 13] = [
    "sub_agent",
    "spawn_agent",
    "call_agent",
    "delegate_task",
    "agent_spawn",
    "agent_fork",
    "agent_wait",
    "agent_send",
    "agent_status",
    "agent_cancel",
    "agent_list",
    "notes_read",
    "notes_write",
];

/// Returns those of the tools that the settings name, and those an agent needs to write to
/// others where it may.
pub(crate) fn tools(
    settings: &DelegationSettings,
    definitions: Option<Arc<dyn Definitions>>,
) -> Vec<Arc<dyn Tool>> {
    let settings = Arc::new(settings.clone());
    let mut tools = vec![
        erase(sub_agent::SubAgent(Arc::clone(&settings))),
        erase(spawn_agent::SpawnAgent(Arc::clone(&settings))),
        erase(delegate_task::DelegateTask(Arc::clone(&settings))),
        erase(agent_spawn::AgentSpawn(Arc::clone(&settings))),
        erase(agent_fork::AgentFork(Arc::clone(&settings))),
        erase(agent_wait::AgentWait(Arc::clone(&settings))),
        erase(agent_send::AgentSend),
        erase(agent_status::AgentStatus(Arc::clone(&settings))),
        erase(agent_cancel::AgentCancel),
        erase(agent_list::AgentList),
        erase(NotesRead),
        erase(NotesWrite),
    ];
    if let Some(definitions) = definitions {
        let settings = Arc::clone(&settings);
        tools.push(erase(call_agent::CallAgent { settings, definitions }));
    }
    // Children that may be written to need somebody who can.
    let has_mail = |name: &str| name == "agent_send" && settings.peers != Peers::Nobody;
    tools.retain(|tool| {
        let name = &tool.spec().name;
        settings.tools.contains(name) || (has_mail(name) && !settings.tools.is_empty())
    });
    tools.extend([erase(send_message::SendMessage), erase(peers::Peers)]);
    tools
}

fn delegation(host: &dyn Host) -> Result<&dyn Delegation, ToolError> {
    host.delegation().ok_or_else(|| Refusal::TooDeep { limit: host.agent().depth() }.into())
}

fn comms(host: &dyn Host) -> Result<&dyn Comms, ToolError> {
    host.comms().ok_or_else(|| ToolError("you have nobody to write to".to_owned()))
}

fn task(prompt: String) -> Result<String, ToolError> {
    if prompt.trim().is_empty() { Err(Refusal::NoTask.into()) } else { Ok(prompt) }
}

fn said(message: String) -> Result<String, ToolError> {
    if message.trim().is_empty() {
        return Err(ToolError("`message` is empty: say something".to_owned()));
    }
    Ok(message)
}

/// Says in the schema of the arguments which models may be named.
fn name_models(parameters: &mut Value, models: &AllowedModels) {
    let description = parameters.pointer_mut("/properties/model/description");
    if let (Some(Value::String(text)), false) = (description, models.is_empty()) {
        text.push_str(&format!(" There are: {models}; a star stands for any ending."));
    }
}

/// Says there which provider it is when none is named.
fn name_provider(parameters: &mut Value, provider: Option<&str>) {
    let description = parameters.pointer_mut("/properties/provider/description");
    if let (Some(Value::String(text)), Some(provider)) = (description, provider) {
        text.push_str(&format!(" Without it, it is `{provider}`."));
    }
}

fn json(answer: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(answer).map_err(|error| ToolError(error.to_string()))
}
