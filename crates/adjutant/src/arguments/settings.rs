//! What `config`, `models` and `presets` take, and where and how every command works.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint, builder::PossibleValuesParser};

use crate::config::{Flag, PRESETS};

pub(super) const CONFIG_HELP: &str = "\
Later layers win: defaults, the user's file, the project's file (the nearest
.adjutant/config.toml), the environment (limits.max_depth is ADJUTANT_LIMITS_MAX_DEPTH),
the command line.";

pub(super) const MODELS_HELP: &str = "\
Prices are in dollars for a million tokens. They come with the program and have a date; check
with your provider. Your own figures go into models.toml beside your config.toml.";

pub(super) const PRESETS_HELP: &str = "\
Examples:
  adjutant presets
  adjutant presets show opta
  adjutant run -c preset=opta 'find the slow tests'";

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

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
