//! What a model can do.
//!
//! One file a tool. A tool is a struct with typed arguments ([`typed`]); the schema
//! the model is told comes from the same struct that reads its arguments.
//!
//! * Files: `list_dir`, `read_file`, `find_files`, `search_files`; `write_file`, `edit_file`,
//!   `multi_edit`, `delete_file`. Where a path really leads is found in one place (`place`),
//!   before the call is judged, and nothing else is opened (`handle`). What the tree knows of
//!   files is in [`Files`].
//! * Files that an agent hands back: `write_artifact`.
//! * The net: `web_fetch`.
//! * People: `ask_user`, and what they wrote down: `skill`.
//! * Other agents: those in [`DELEGATION_TOOLS`], `send_message` and `peers`. Each makes an
//!   [`Order`](adjutant_core::Order) or asks the runtime, and puts the answer into words; the
//!   delegating is done elsewhere.
//! * Commands: `run_command`, `read_output`, `write_input`, `stop_command`. A [`keeper`] runs
//!   each so that nothing it starts outlives it.

mod ask_user;
mod blocking;
mod brief;
mod cached;
#[cfg(unix)]
mod commands;
mod context_files;
mod delegation;
#[cfg(unix)]
mod delete_file;
#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod edit;
#[cfg(unix)]
mod edit_file;
#[cfg(unix)]
mod editing;
#[cfg(unix)]
mod excerpt;
mod files;
mod find_files;
#[cfg(all(unix, feature = "fuzz"))]
pub mod fuzz;
mod gate;
#[cfg(unix)]
pub mod git;
mod glob;
mod handle;
#[cfg(unix)]
mod hooks;
#[cfg(unix)]
pub mod keeper;
mod list_dir;
mod listing;
mod lookup;
#[cfg(all(unix, feature = "mcp"))]
pub mod mcp;
#[cfg(unix)]
mod multi_edit;
mod notes;
#[cfg(unix)]
mod orders;
mod picture;
#[cfg(unix)]
mod pipe;
mod place;
mod read_file;
#[cfg(unix)]
pub mod restore;
#[cfg(unix)]
mod rewrite;
#[cfg(unix)]
pub mod sandbox;
mod search_files;
#[cfg(unix)]
mod shell;
pub mod skills;
#[cfg(unix)]
mod snapshot;
pub mod typed;
mod walk;
mod web;
#[cfg(unix)]
mod worktree;
#[cfg(unix)]
mod write_artifact;
#[cfg(unix)]
mod write_file;

use std::sync::Arc;

use adjutant_core::{Definitions, Tool};

#[cfg(unix)]
pub use commands::{CommandSettings, Environment};
pub use context_files::ContextFiles;
pub use delegation::{
    DelegationSettings, Earlier, NAMES as DELEGATION_TOOLS, Parameters, PlanSettings, Style,
};
pub use files::{By, Current, Files, MyTurn, Stale, Stamp, Version};
#[cfg(unix)]
pub use hooks::{CommandHooks, Hook, HookEvent};
pub use place::resolve;
#[cfg(unix)]
pub use snapshot::Snapshots;
use typed::erase;
pub use web::{Permit, WebSettings};
#[cfg(unix)]
pub use worktree::Worktrees;
#[cfg(unix)]
pub use write_artifact::{ArtifactPlace, ArtifactSettings, ChosenBy};

/// What the tools are told once and keep.
#[derive(Default)]
pub struct Settings {
    /// How other agents are started.
    pub delegation: DelegationSettings,
    /// The named agents.
    pub definitions: Option<Arc<dyn Definitions>>,
    /// The skills there are.
    pub skills: Arc<skills::Skills>,
    /// What is known of files, by all that change them.
    pub files: Arc<Files>,
    /// What may be reached on the net.
    pub web: WebSettings,
    /// Where agents hand back files.
    #[cfg(unix)]
    pub artifacts: ArtifactSettings,
    /// How commands are run.
    #[cfg(unix)]
    pub commands: CommandSettings,
}

/// Returns every tool there is. Which of them an agent has is for its grant to say.
pub fn all(settings: &Settings) -> Vec<Arc<dyn Tool>> {
    let mut tools = vec![
        erase(list_dir::ListDir),
        erase(read_file::ReadFile(Arc::clone(&settings.files))),
        erase(find_files::FindFiles),
        erase(search_files::SearchFiles),
        erase(web::WebFetch::new(&settings.web)),
        erase(ask_user::AskUser),
        erase(skills::SkillTool(Arc::clone(&settings.skills))),
    ];
    tools.extend(delegation::tools(&settings.delegation, settings.definitions.clone()));
    #[cfg(unix)]
    tools.extend(changing(&settings.files));
    #[cfg(unix)]
    tools.push(erase(write_artifact::WriteArtifact::new(&settings.artifacts)));
    #[cfg(unix)]
    tools.extend(commands::tools(&settings.commands));
    tools
}

/// Returns the tools that change files.
#[cfg(unix)]
fn changing(files: &Arc<Files>) -> [Arc<dyn Tool>; 4] {
    [
        erase(write_file::WriteFile(Arc::clone(files))),
        erase(edit_file::EditFile(Arc::clone(files))),
        erase(multi_edit::MultiEdit(Arc::clone(files))),
        erase(delete_file::DeleteFile(Arc::clone(files))),
    ]
}
