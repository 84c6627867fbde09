//! What a model can do.
//!
//! One file a tool. A tool is a struct with typed arguments ([`typed`]); the schema
//! the model is told comes from the same struct that reads its arguments.
//!
//! * Files: `list_dir`, `read_file`, `find_files`, `search_files`. Where a path really
//!   leads is found in one place (`place`), before the call is judged.
//! * People: `ask_user`.
//! * Other agents: `sub_agent`, `agent_spawn`, `agent_status`, `agent_cancel`,
//!   `agent_list`. Each makes an [`Order`](adjutant_core::Order) or asks the runtime, and
//!   puts the answer into words; the delegating is done elsewhere.
//! * Processes: [`keeper`] runs a command so that nothing it starts outlives it.

mod ask_user;
mod blocking;
mod brief;
mod cached;
mod delegation;
mod find_files;
mod gate;
mod glob;
#[cfg(unix)]
pub mod keeper;
mod list_dir;
mod listing;
mod place;
mod read_file;
mod search_files;
pub mod typed;
mod walk;

use std::sync::Arc;

use adjutant_core::Tool;

pub use delegation::DelegationSettings;
use typed::erase;

/// What the tools are told once and keep.
#[derive(Default)]
pub struct Settings {
    /// How other agents are started.
    pub delegation: DelegationSettings,
}

/// Returns every tool there is. Which of them an agent has is for its grant to say.
pub fn all(settings: &Settings) -> Vec<Arc<dyn Tool>> {
    let Settings { delegation: settings } = settings;
    vec![
        erase(list_dir::ListDir),
        erase(read_file::ReadFile),
        erase(find_files::FindFiles),
        erase(search_files::SearchFiles),
        erase(ask_user::AskUser),
        erase(delegation::SubAgent::new(settings)),
        erase(delegation::AgentSpawn::new(settings)),
        erase(delegation::AgentStatus),
        erase(delegation::AgentCancel),
        erase(delegation::AgentList),
    ]
}
