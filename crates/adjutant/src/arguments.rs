//! The command line, as it is written.

use std::path::PathBuf;

use adjutant_core::{Mode, SessionId};
use clap::{Args, Parser, Subcommand, ValueHint, builder::PossibleValuesParser};
use clap_complete::Shell;

use crate::{
    CliError,
    config::{Flag, PRESETS},
    error::Kind,
};

const EXAMPLES: &str = "\
Examples:
  adjutant demo                             watch a tree of agents, without a key or a network
  adjutant run --model rehearsal 'audit'    give the root a task
  adjutant run --model rehearsal < task.md  take the task from stdin
  adjutant models                           show which models can be used
  adjutant presets                          show which tools for delegation there can be
  adjutant config                           show every setting and where it came from";

const RUN_HELP: &str = "\
Examples:
  adjutant run --model rehearsal 'look at this directory'
  adjutant run --model scripted/replies.toml --json 'go' > result.json
  adjutant run -c limits.max_depth=1 -c budget.usd=0.50 'fix the failing test'
  adjutant run -a reviewer                            run an agent with its usual task
  git diff | adjutant run -a reviewer                 what is piped in is the task
  git diff | adjutant run -a reviewer --stdin 'only security'
  adjutant run -a reviewer --param effort=high --dry-run
  git log -20 | adjutant run -a writer --quiet | adjutant run -a editor --quiet > NEWS

A task that is given leaves stdin unread. Without one, stdin is the task; without that, or when
it is empty or a terminal, an agent's task is what its instructions say.

Exit codes:
    0  the task was completed
    1  it failed
    2  the command line or the configuration is wrong
    3  the model could not be reached or would not answer
    4  the budget was spent
    5  a permission or an answer was needed and nobody gave one
  124  the time was up
  130  it was cancelled";

const CONFIG_HELP: &str = "\
Later layers win: defaults, the user's file, the project's file (the nearest
.adjutant/config.toml), the environment (limits.max_depth is ADJUTANT_LIMITS_MAX_DEPTH),
the command line.";

const MODELS_HELP: &str = "\
Prices are in dollars for a million tokens. They come with the program and have a date; check
with your provider. Your own figures go into models.toml beside your config.toml.";

const PERMISSIONS_HELP: &str = "\
Examples:
  adjutant permissions
  adjutant permissions explain run_command 'git status | head'
  adjutant permissions explain write_file '{\"path\": \"src/a.rs\", \"content\": \"\"}'
  adjutant permissions explain read_file /etc/passwd --mode auto
  adjutant permissions explain run_command 'make test' -a reviewer";

const MEMORY_HELP: &str = "\
Examples:
  adjutant memory show                who remembers something, and where
  adjutant memory show reviewer       what it remembers
  adjutant memory gc reviewer         keep the newest records, as many as its file allows
  adjutant memory gc reviewer --keep 0    forget it all";

const AGENTS_HELP: &str = "\
Examples:
  adjutant agents list
  adjutant agents new reviewer --description 'Reviews a diff'
  adjutant agents check                      all files there are; exit code 2 if one is wrong
  adjutant agents check agents/reviewer.toml
  adjutant agents show reviewer

Agents are looked for in .adjutant/agents of this directory and those above it in the project,
then in your own adjutant/agents beside config.toml. The nearest one of a name counts.";

const TRUST_HELP: &str = "\
A project's files come from whoever wrote it. What its .adjutant/config.toml allows, and the
servers its .mcp.json starts, are nothing until you agree; what is added later is asked again.";

const PRESETS_HELP: &str = "\
Examples:
  adjutant presets
  adjutant presets show opta
  adjutant run -c preset=opta 'find the slow tests'";

const UNDO_HELP: &str = "\
Examples:
  adjutant undo                       all that the latest session here did
  adjutant undo root.fixer-1          what an agent and those below it did
  adjutant undo toolu_01 --dry-run    what one call did; the beginning of its name is enough
  adjutant undo undo-3f9c21aa         the undoing itself, as it was named

A file that somebody else changed later is a conflict, and then nothing is undone.

Exit codes:
    0  it is undone, or there was nothing to undo
    1  something is in conflict
    2  the command line or the configuration is wrong";

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

/// What `run` takes.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Set the task; without it, it is read from stdin
    pub prompt: Option<String>,

    /// Set the task, as a flag
    #[arg(short, long = "prompt", value_name = "PROMPT", conflicts_with = "prompt")]
    pub prompt_flag: Option<String>,

    /// Add what is piped in to the task, as data; without it, a given task leaves stdin unread
    #[arg(long)]
    pub stdin: bool,

    /// Which agent it is.
    #[command(flatten)]
    pub named: AgentArguments,

    /// Set a variable of the agent, or `temperature`, `top_p`, `max_tokens` or `effort`; can be
    /// repeated
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    pub parameters: Vec<(String, String)>,

    /// Show what would be sent, and what the agent and those it may call could do and spend.
    /// Nothing is sent, started or written
    #[arg(long, conflicts_with_all = ["record", "replay", "events"])]
    pub dry_run: bool,

    /// Set the model: `anthropic/MODEL`, `ollama/MODEL`, …; `rehearsal` needs no key
    #[arg(long)]
    pub model: Option<String>,

    /// Set how freely agents act
    #[arg(long, value_parser = PossibleValuesParser::new(Mode::ALL.map(Mode::name)))]
    pub mode: Option<String>,

    /// Let agents hand back files in this directory, each below it in one of its own; those of
    /// the root are in it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub artifacts: Option<PathBuf>,

    /// What the models say, kept or played.
    #[command(flatten)]
    pub tape: TapeArguments,

    /// Have the answer fit the JSON Schema in this file; stdout is then that JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// What is shown.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Which named agent the root is.
#[derive(Debug, Default, Args)]
pub struct AgentArguments {
    /// Run this agent: its name, or the path of its file
    #[arg(short, long, value_name = "AGENT")]
    pub agent: Option<String>,

    /// Look for agents here first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub agents_dir: Option<PathBuf>,
}

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// What is shown.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// What `config` takes.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// Something else than to show the settings.
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,

    /// Write one JSON object
    #[arg(long)]
    pub json: bool,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}

/// What `models` takes.
#[derive(Debug, Args)]
pub struct ModelsArguments {
    /// Show this provider's only, usable or not
    pub provider: Option<String>,

    /// Write a JSON array, one object a provider
    #[arg(long)]
    pub json: bool,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}

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

/// What `presets` takes.
#[derive(Debug, Args)]
pub struct PresetsArguments {
    /// Something else than to list them.
    #[command(subcommand)]
    pub command: Option<PresetsCommand>,

    /// Write a JSON array, one object a preset
    #[arg(long)]
    pub json: bool,
}

/// What else `presets` does.
#[derive(Debug, Subcommand)]
pub enum PresetsCommand {
    /// Show a preset as it is written, and what it comes to
    Show {
        /// Which one
        #[arg(value_parser = PossibleValuesParser::new(PRESETS.map(|preset| preset.name)))]
        name: String,
        /// Write one JSON object
        #[arg(long)]
        json: bool,
    },
}

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

/// What `trust` takes.
#[derive(Debug, Args)]
pub struct TrustArguments {
    /// Agree without being asked
    #[arg(long, conflicts_with = "revoke")]
    pub yes: bool,

    /// Take back what was agreed to
    #[arg(long)]
    pub revoke: bool,

    /// Look from this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
}

/// What `undo` takes.
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// Undo what this agent did, or this call; without it, all that the latest session did
    #[arg(value_name = "AGENT|CALL")]
    pub target: Option<String>,

    /// Look into this session only
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,

    /// Show what would be done
    #[arg(long)]
    pub dry_run: bool,

    /// Undo what can be undone when other files are in conflict
    #[arg(long, conflicts_with = "dry_run")]
    pub keep_going: bool,

    /// Write one JSON object
    #[arg(long)]
    pub json: bool,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}

/// What else `config` does.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show where the files are looked for
    Path {
        /// Look from this directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
}

/// Where a command works and what is set for it alone.
#[derive(Debug, Default, Args)]
pub struct PlaceArguments {
    /// Work in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,

    /// Set a key, as in `-c limits.max_depth=2`; can be repeated, the last one counts
    #[arg(short = 'c', value_name = "KEY=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
}

/// Whether what the models say is kept or played.
#[derive(Debug, Default, Args)]
pub struct TapeArguments {
    /// Keep what the models say to the whole tree in this file. It is written when the run
    /// has ended, and not if the process is killed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,

    /// Play what such a file has, without a key or a network. Tools are run again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "record")]
    pub replay: Option<PathBuf>,
}

/// What a command shows.
#[derive(Debug, Default, Args)]
pub struct OutputArguments {
    /// Write the result as one JSON object
    #[arg(long, conflicts_with = "events")]
    pub json: bool,

    /// Write every event as a line of JSON, while it happens
    #[arg(long)]
    pub events: bool,

    /// Write nothing to stderr but warnings and errors
    #[arg(long)]
    pub quiet: bool,
}

impl PlaceArguments {
    /// Returns the settings given with `-c`.
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |(key, value): &(String, String)| Flag {
            flag: "-c",
            key: key.clone(),
            value: value.clone(),
        };
        self.settings.iter().map(flag).collect()
    }
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

impl RunArguments {
    /// Returns everything that was set on the command line.
    pub fn flags(&self) -> Vec<Flag> {
        let mut flags = self.place.flags();
        let own = [("--model", "model", &self.model), ("--mode", "mode", &self.mode)];
        for (flag, key, value) in own {
            let value = value.iter().cloned();
            flags.extend(value.map(|value| Flag { flag, key: key.to_owned(), value }));
        }
        flags
    }
}

impl From<DemoArguments> for RunArguments {
    /// A demo is a run whose model and task are chosen.
    fn from(demo: DemoArguments) -> Self {
        let DemoArguments { place, output } = demo;
        Self {
            prompt: Some("Look at this directory and tell me what is in it.".to_owned()),
            prompt_flag: None,
            stdin: false,
            named: AgentArguments::default(),
            parameters: Vec::new(),
            dry_run: false,
            model: Some("rehearsal".to_owned()),
            mode: None,
            artifacts: None,
            output_schema: None,
            tape: TapeArguments::default(),
            place,
            output,
        }
    }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
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
