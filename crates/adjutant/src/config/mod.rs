//! The configuration: what people wrote ([`Written`]) and what the program uses
//! ([`Config`]).
//!
//! ```text
//! defaults.toml < the user's file < the project's file < environment < command line
//! ```
//!
//! Every value of every layer is checked, also one that a later layer replaces. To add
//! a key: a row in `key.rs`, a field here, an entry with a comment in `defaults.toml`.

mod key;
mod show;
mod source;
mod value;
mod written;

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    time::Duration,
};

use adjutant_core::{Allowance, Mode, Rules};
use adjutant_engine::Settings;
use adjutant_store::Durability;

use self::{key::Project, written::Assignment};
pub use self::{
    show::{show_json, show_places, show_text},
    source::Source,
    written::{Flag, Written},
};
use crate::{CliError, Surroundings, error::Kind};

/// What the program uses, checked and ready.
#[derive(Clone, Debug)]
pub struct Config {
    /// The model the root runs on.
    pub model: Option<String>,
    /// How freely the root acts.
    pub mode: Mode,
    /// Exceptions to that.
    pub rules: Rules,
    /// The root's system prompt.
    pub instructions: String,
    /// What the tree may spend.
    pub allowance: Allowance,
    /// How many levels of agents there may be below the root.
    pub max_depth: u8,
    /// How long a parent waits for a child.
    pub blocking_timeout: Duration,
    /// The tokens of an agent started by `agent_spawn` without a budget.
    pub spawn_budget: NonZeroU64,
    /// What remembers.
    pub journal: Journal,
    /// The file it remembers in.
    pub journal_path: PathBuf,
    /// What it survives.
    pub durability: Durability,
    /// The engine's limits and habits.
    pub settings: Settings,
}

/// What remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A file.
    File,
    /// The process, until it ends.
    Memory,
}

impl Config {
    /// Reads and checks the configuration that applies in a directory.
    pub fn load(around: &Surroundings, directory: &Path, flags: &[Flag]) -> Result<Self, CliError> {
        Self::check(&Written::read(around, directory, flags)?, around)
    }

    /// Checks what was written.
    pub fn check(written: &Written, around: &Surroundings) -> Result<Self, CliError> {
        let mut config = Self::blank();
        for (index, assignment) in written.0.iter().enumerate() {
            let Assignment { key, value, source } = assignment;
            (key.set)(&mut config, value).map_err(|wrong| {
                CliError::new(Kind::Config, format!("{source}: `{}` {wrong}", key.name))
            })?;
            if matches!(source, Source::Project { .. }) {
                assignment.check_project(&written.0[..index], around)?;
            }
        }
        Ok(config)
    }

    /// Returns the tamest there is, for the defaults to be written on. None of it is
    /// left when they have been.
    fn blank() -> Self {
        Self {
            model: None,
            mode: Mode::Plan,
            rules: Rules::default(),
            instructions: String::new(),
            allowance: Allowance::default(),
            max_depth: 0,
            blocking_timeout: Duration::ZERO,
            spawn_budget: NonZeroU64::MIN,
            journal: Journal::File,
            journal_path: PathBuf::new(),
            durability: Durability::Power,
            settings: Settings::default(),
        }
    }
}

impl Assignment {
    /// Refuses what a project's file may not say.
    fn check_project(&self, below: &[Self], around: &Surroundings) -> Result<(), CliError> {
        let Self { key, value, source } = self;
        let name = key.name;
        let held = below.iter().rfind(|other| other.key.name == name);
        let refusal = match (key.project, held) {
            (Project::Never, _) => format!("{source}: a project may not set `{name}`"),
            (Project::Tighter, Some(held)) if key.is_looser(value, &held.value) => {
                format!("{source}: a project may not raise `{name}` from {} to {value}", held.value)
            }
            (Project::Any | Project::Tighter, _) => return Ok(()),
        };
        let user = around.user_file();
        Err(CliError::new(Kind::Config, refusal).hint(format!(
            "set it in {} or on the command line: -c '{name}={value}'",
            user.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use adjutant_engine::Unattended;

    use super::{key::KEYS, *};

    fn around() -> Surroundings {
        Surroundings {
            directory: "/nowhere".into(),
            config_home: "/nowhere/config".into(),
            data_home: "/nowhere/data".into(),
            variables: Vec::new(),
            providers: adjutant_models::Variables::default(),
        }
    }

    fn load(settings: &[(&str, &str)]) -> Config {
        let flag = |(key, value): &(&str, &str)| Flag {
            flag: "-c",
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let flags: Vec<_> = settings.iter().map(flag).collect();
        Config::load(&around(), Path::new("/nowhere"), &flags).unwrap()
    }

    #[test]
    fn the_defaults_set_everything_that_is_not_optional() {
        let written = Written::read(&around(), Path::new("/nowhere"), &[]).unwrap();
        let unset = KEYS.iter().filter(|key| written.effective(key).is_none());
        let unset: Vec<_> = unset.map(|key| key.name).collect();
        let budget = ["budget.tokens", "budget.usd", "budget.time", "budget.turns", "budget.calls"];
        assert_eq!(unset, [&["model"], &budget[..]].concat());
    }

    #[test]
    fn the_defaults_file_shows_a_valid_value_for_every_key() {
        let uncommented: String = include_str!("defaults.toml")
            .lines()
            .map(|line| {
                line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        let mut written = Written::default();
        written.add_file(&uncommented, &|_| Source::Default).unwrap();
        Config::check(&written, &around()).unwrap();
        for key in &KEYS {
            assert!(written.effective(key).is_some(), "{}", key.name);
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_engine() {
        let ours = format!("{:?}", load(&[]).settings);
        assert_eq!(ours, format!("{:?}", Settings::default()));
    }

    #[test]
    fn every_setting_arrives_where_it_is_used() {
        let config = load(&[
            ("model", "rehearsal"),
            ("mode", "auto"),
            ("journal", "memory"),
            ("journal_path", "/j.db"),
            ("durability", "power"),
            ("unattended", "fail"),
            ("instructions", "be brief"),
            ("limits.max_depth", "1"),
            ("limits.blocking_timeout", "7"),
            ("sub_agents.default_budget", "9"),
        ]);
        assert_eq!(config.model.as_deref(), Some("rehearsal"));
        assert_eq!((config.mode, config.journal), (Mode::Auto, Journal::Memory));
        assert_eq!(config.journal_path, Path::new("/j.db"));
        assert_eq!(config.durability, Durability::Power);
        assert_eq!(config.settings.unattended, Unattended::Fail);
        assert_eq!(config.instructions, "be brief");
        assert_eq!((config.max_depth, config.spawn_budget.get()), (1, 9));
        assert_eq!(config.blocking_timeout, Duration::from_secs(7));
    }

    #[test]
    fn limits_and_retries_become_settings_of_the_engine() {
        let settings = load(&[
            ("limits.max_concurrent_agents", "1"),
            ("limits.max_children_per_agent", "2"),
            ("limits.max_concurrent_ops", "3"),
            ("limits.max_model_calls", "4"),
            ("limits.inactivity_timeout", "5"),
            ("retry.attempts", "6"),
            ("retry.base_ms", "7"),
            ("retry.cap_ms", "8"),
        ])
        .settings;
        assert_eq!(settings.max_concurrent_agents, 1);
        assert_eq!(settings.max_children_per_agent, 2);
        assert_eq!(settings.max_concurrent_ops, 3);
        assert_eq!(settings.max_model_calls, 4);
        assert_eq!(settings.inactivity, Duration::from_secs(5));
        assert_eq!(settings.retry.attempts, 6);
        assert_eq!(settings.retry.base, Duration::from_millis(7));
        assert_eq!(settings.retry.cap, Duration::from_millis(8));
    }

    #[test]
    fn a_budget_becomes_an_allowance() {
        let config = load(&[
            ("budget.tokens", "1"),
            ("budget.usd", "0.25"),
            ("budget.time", "3"),
            ("budget.turns", "4"),
            ("budget.calls", "5"),
        ]);
        let expected = Allowance {
            tokens: NonZeroU64::new(1),
            micros: NonZeroU64::new(250_000),
            millis: NonZeroU64::new(3000),
            turns: NonZeroU64::new(4),
            calls: NonZeroU64::new(5),
        };
        assert_eq!(config.allowance, expected);
        assert_eq!(load(&[]).allowance, Allowance::default());
    }

    #[test]
    fn rules_add_up_in_their_lists() {
        let config = load(&[
            ("permissions.allow", "['read_file']"),
            ("permissions.ask", "['edit_file(src/**)']"),
            ("permissions.deny", "['web_fetch']"),
            ("permissions.deny", "['run_command(rm *)']"),
        ]);
        let rule = |text: &str| text.parse().unwrap();
        let expected = Rules {
            allow: vec![rule("read_file")],
            ask: vec![rule("edit_file(src/**)")],
            deny: vec![rule("web_fetch"), rule("run_command(rm *)")],
        };
        assert_eq!(config.rules, expected);
    }
}
