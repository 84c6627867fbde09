//! What `agents` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::PlaceArguments;

pub(super) const AGENTS_HELP: &str = "\
Examples:
  adjutant agents list
  adjutant agents new reviewer --description 'Reviews a diff'
  adjutant agents check                      all files there are; exit code 2 if one is wrong
  adjutant agents check agents/reviewer.toml
  adjutant agents show reviewer

Agents are looked for in .adjutant/agents of this directory and those above it in the project,
then in your own adjutant/agents beside config.toml. The nearest one of a name counts.";

/// What `agents` takes.
#[derive(Debug, Args)]
pub struct AgentsArguments {
    /// What to do with them.
    #[command(subcommand)]
    pub command: AgentsCommand,
}

/// What `agents` does.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the agents there are, and the files that are refused
    List {
        /// Write a JSON array, one object a file
        #[arg(long)]
        json: bool,
        /// Where they are.
        #[command(flatten)]
        place: AgentsPlace,
    },
    /// Show all that one agent is
    Show {
        /// Its name, or the path of its file
        #[arg(value_name = "AGENT")]
        name: String,
        /// Write one JSON object
        #[arg(long)]
        json: bool,
        /// Where it is.
        #[command(flatten)]
        place: AgentsPlace,
    },
    /// Write a file for a new agent, in which every field is explained
    New {
        /// What it is called
        name: String,
        /// Make it for all projects of yours
        #[arg(long)]
        user: bool,
        /// What it is good for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Look for the project from this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
    /// Look for mistakes in agents' files
    Check {
        /// The names of agents, or the paths of their files; without any, all
        #[arg(value_name = "AGENT")]
        names: Vec<String>,
        /// Write one JSON object
        #[arg(long)]
        json: bool,
        /// Where they are.
        #[command(flatten)]
        place: AgentsPlace,
    },
}

/// Where agents are looked for.
#[derive(Debug, Args)]
pub struct AgentsPlace {
    /// Look for agents here first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub agents_dir: Option<PathBuf>,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}
