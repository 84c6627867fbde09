//! What `memory` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub(super) const MEMORY_HELP: &str = "\
Examples:
  adjutant memory show                who remembers something, and where
  adjutant memory show reviewer       what it remembers
  adjutant memory gc reviewer         keep the newest records, as many as its file allows
  adjutant memory gc reviewer --keep 0    forget it all";

/// What `memory` does.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Show who remembers something, or what one agent does
    Show {
        /// The agent; without it, all of them are listed
        #[arg(value_name = "AGENT")]
        agent: Option<String>,
        /// Write a JSON array, one object an agent or a record
        #[arg(long)]
        json: bool,
        /// Look from this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
    /// Remove old records; no model is asked
    Gc(GcArguments),
}

/// What `memory gc` takes.
#[derive(Debug, Args)]
pub struct GcArguments {
    /// The agent
    #[arg(value_name = "AGENT", required_unless_present = "all")]
    pub agent: Option<String>,

    /// Clean up after all agents
    #[arg(long, conflicts_with = "agent")]
    pub all: bool,

    /// Keep so many records; without it, as many as the agent's file allows, or 100
    #[arg(long, value_name = "COUNT")]
    pub keep: Option<usize>,

    /// Show what would be removed
    #[arg(long)]
    pub dry_run: bool,

    /// Look from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
}
