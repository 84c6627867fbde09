//! What `run` and `demo` take.

use std::path::PathBuf;

use adjutant_core::Mode;
use clap::{Args, ValueHint, builder::PossibleValuesParser};

use super::PlaceArguments;
use crate::config::Flag;

pub(super) const RUN_HELP: &str = "\
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

    /// Set the model: `anthropic/MODEL`, `ollama/MODEL`, …; `rehearsal` needs no key. Those that
    /// agents' files name do not count then
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
