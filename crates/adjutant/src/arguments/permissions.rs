//! What `permissions` and `trust` take.

use std::path::PathBuf;

use adjutant_core::Mode;
use clap::{Args, Subcommand, ValueHint, builder::PossibleValuesParser};

use super::{AgentArguments, PlaceArguments};
use crate::config::Flag;

pub(super) const PERMISSIONS_HELP: &str = "\
Examples:
  adjutant permissions
  adjutant permissions explain run_command 'git status | head'
  adjutant permissions explain write_file '{\"path\": \"src/a.rs\", \"content\": \"\"}'
  adjutant permissions explain read_file /etc/passwd --mode auto
  adjutant permissions explain run_command 'make test' -a reviewer";

pub(super) const TRUST_HELP: &str = "\
A project's files come from whoever wrote it. What its .adjutant/config.toml allows, and the
servers its .mcp.json starts, are nothing until you agree; what is added later is asked again.";

/// What `permissions` takes.
#[derive(Debug, Args)]
pub struct PermissionsArguments {
    /// Something else than to show the rules.
    #[command(subcommand)]
    pub command: Option<PermissionsCommand>,

    /// What they are shown by.
    #[command(flatten)]
    pub view: PermissionsView,
}

/// By what permissions are shown.
#[derive(Debug, Args)]
pub struct PermissionsView {
    /// Write one JSON object
    #[arg(long)]
    pub json: bool,

    /// Set how freely agents act
    #[arg(long, value_parser = PossibleValuesParser::new(Mode::ALL.map(Mode::name)))]
    pub mode: Option<String>,

    /// Which agent it is about.
    #[command(flatten)]
    pub named: AgentArguments,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}

/// What else `permissions` does.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Tell what would become of a call of the root's, and what decides it
    Explain {
        /// The tool
        tool: String,
        /// Its arguments: a JSON object, or the words of its first parameter
        arguments: Vec<String>,
        /// What it is shown by.
        #[command(flatten)]
        view: PermissionsView,
    },
}

/// What `trust` takes.
#[derive(Debug, Args)]
pub struct TrustArguments {
    /// Agree without being asked
    #[arg(long, conflicts_with = "revoke")]
    pub yes: bool,

    /// Take back what was agreed to
    #[arg(long)]
    pub revoke: bool,

    /// Look at the agents here too
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub agents_dir: Option<PathBuf>,

    /// Look from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
}

impl PermissionsView {
    /// Returns everything that was set on the command line.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags = self.place.flags();
        let mode = self.mode.iter().cloned();
        flags.extend(mode.map(|value| Flag { flag: "--mode", key: "mode".to_owned(), value }));
        flags
    }
}
