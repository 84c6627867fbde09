//! Commands: run, watched, fed, stopped. Each has a keeper, so that nothing it starts outlives
//! it, and is in its agent's custody, so that it does not outlive the agent.

mod end;
mod environment;
mod job;
mod jobs;
mod output;
mod read_output;
mod run_command;
mod stop_command;
mod write_input;

use std::{path::PathBuf, sync::Arc};

use adjutant_core::Tool;

pub use self::environment::Environment;
use self::{
    jobs::Jobs, read_output::ReadOutput, run_command::RunCommand, stop_command::StopCommand,
    write_input::WriteInput,
};
use crate::{keeper::Keeper, sandbox::Sandbox, snapshot::Snapshots, typed::erase};

/// How commands are run.
#[derive(Clone, Debug, Default)]
pub struct CommandSettings {
    /// What keeps them. Without it none is run.
    pub keeper: Option<Keeper>,
    /// What holds them.
    pub sandbox: Sandbox,
    /// What they see of the environment.
    pub environment: Environment,
    /// What they do not see of the files, though it may lie where they work.
    pub hidden: Vec<PathBuf>,
    /// What records the files they change. Without it nobody does.
    pub snapshots: Option<Arc<Snapshots>>,
    /// What tells a person what not only the model should know. Without it nobody does.
    pub warn: Option<fn(&str)>,
}

/// Returns the tools, which know of the same commands.
pub(crate) fn tools(settings: &CommandSettings) -> [Arc<dyn Tool>; 4] {
    let jobs = Arc::<Jobs>::default();
    [
        erase(RunCommand { settings: settings.clone(), jobs: Arc::clone(&jobs) }),
        erase(ReadOutput(Arc::clone(&jobs))),
        erase(WriteInput(Arc::clone(&jobs))),
        erase(StopCommand(jobs)),
    ]
}
