//! The command line, as it is written.

mod agents;
mod memory;
mod permissions;
mod run;
mod settings;
mod undo;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use self::{
    agents::AGENTS_HELP,
    memory::MEMORY_HELP,
    permissions::{PERMISSIONS_HELP, TRUST_HELP},
    run::RUN_HELP,
    settings::{CONFIG_HELP, MODELS_HELP, PRESETS_HELP},
    undo::UNDO_HELP,
};
pub use self::{
    agents::{AgentsArguments, AgentsCommand, AgentsPlace},
    memory::{GcArguments, MemoryCommand},
    permissions::{PermissionsArguments, PermissionsCommand, PermissionsView, TrustArguments},
    run::{AgentArguments, DemoArguments, OutputArguments, RunArguments, TapeArguments},
    settings::{
        ConfigArguments, ConfigCommand, ModelsArguments, PlaceArguments, PresetsArguments,
        PresetsCommand,
    },
    undo::UndoArguments,
};
use crate::{CliError, error::Kind};

const EXAMPLES: &str = "\
Examples:
  adjutant demo                             watch a tree of agents, without a key or a network
  adjutant run --model rehearsal 'audit'    give the root a task
  adjutant run --model rehearsal < task.md  take the task from stdin
  adjutant models                           show which models can be used
  adjutant presets                          show which tools for delegation there can be
  adjutant config                           show every setting and where it came from";

/// Run trees of agents
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Give a root agent a task and wait for its answer
    #[command(after_help = RUN_HELP)]
    Run(RunArguments),
    /// Watch a tree of agents look at a directory, without a key or a network
    Demo(DemoArguments),
    /// Show every setting, its value and where it came from
    #[command(after_help = CONFIG_HELP, args_conflicts_with_subcommands = true)]
    Config(ConfigArguments),
    /// Show which models can be used, what they can do and what they cost
    #[command(after_help = MODELS_HELP)]
    Models(ModelsArguments),
    /// Show the presets: which tools for delegation there are, under which limits
    #[command(after_help = PRESETS_HELP, args_conflicts_with_subcommands = true)]
    Presets(PresetsArguments),
    /// Show what agents may do here, or why a call is allowed, asked about or denied
    #[command(after_help = PERMISSIONS_HELP, args_conflicts_with_subcommands = true)]
    Permissions(PermissionsArguments),
    /// Show what agents remember from run to run, or clean up
    #[command(subcommand, after_help = MEMORY_HELP)]
    Memory(MemoryCommand),
    /// List, show, make and check named agents
    #[command(after_help = AGENTS_HELP)]
    Agents(AgentsArguments),
    /// Agree to what a project's own files would allow or start, after showing it
    #[command(after_help = TRUST_HELP)]
    Trust(TrustArguments),
    /// Make files what they were before agents changed them
    #[command(after_help = UNDO_HELP)]
    Undo(UndoArguments),
    /// Write a script that completes the command line
    Completions {
        /// The shell to write it for
        shell: Shell,
    },
}

/// Says in one line what is wrong with a command line, and in others what to do about it.
pub fn complaint(error: &clap::Error) -> CliError {
    let text = error.to_string();
    let paragraphs: Vec<_> = text.split("\n\n").collect();
    let first = paragraphs.first().copied().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let message = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    let error = CliError::new(Kind::Usage, message);
    tips.fold(error, |error, tip| error.hint(tip)).hint("`--help` shows how it is used")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
