//! The configuration: what people wrote ([`Written`]) and what the program uses
//! ([`Config`]).
//!
//! ```text
//! defaults.toml < the preset < the user's file < the project's file < environment < command line
//! ```
//!
//! Every value of every layer is checked, also one that a later layer replaces. To add
//! a key: a row in `key.rs`, a field here, an entry with a comment in `defaults.toml`.

mod allowed;
#[cfg(not(feature = "sub-agents"))]
mod alone;
mod breaker;
mod hook;
mod key;
mod preset;
#[cfg(feature = "mcp")]
mod server;
mod show;
mod source;
mod value;
mod written;

use std::{
    collections::BTreeMap,
    mem::discriminant,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Allowance, Effort, Mode, Rules};
use adjutant_engine::Settings;
use adjutant_models::{PROVIDERS, ProviderSettings, Providers, Unfit};
use adjutant_store::Durability;
use adjutant_tools::{DelegationSettings, Hook, WebSettings};

#[cfg(feature = "mcp")]
use adjutant_tools::mcp::{Server, ServerSettings};

use self::{
    hook::HookSettings,
    key::{Project, Setter},
    written::Assignment,
};
pub(crate) use self::{
    preset::{PRESETS, Preset},
    show::values,
    written::{find_project, project_of},
};
pub use self::{
    show::{show_json, show_places, show_text},
    source::Source,
    written::{Flag, Written},
};
use crate::{CliError, Surroundings, error::Kind, nearest::nearest};

/// What the program uses, checked and ready.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which tools for delegation there are, and under which limits.
    pub preset: String,
    /// The model the root runs on.
    pub model: Option<String>,
    /// How much models think before they answer.
    pub reasoning: Option<Effort>,
    /// The providers, as they are set up.
    pub providers: Arc<Providers>,
    provider_settings: BTreeMap<String, ProviderSettings>,
    /// What is run before and after what agents do.
    pub hooks: Vec<Hook>,
    hook_settings: BTreeMap<String, HookSettings>,
    /// The servers whose tools agents have.
    #[cfg(feature = "mcp")]
    pub servers: Vec<Server>,
    #[cfg(feature = "mcp")]
    server_settings: BTreeMap<String, ServerSettings>,
    /// How freely the root acts.
    pub mode: Mode,
    /// Exceptions to that, by layer, the weakest first.
    pub rules: Vec<Rules>,
    /// What the project's file allows and nobody agreed to.
    pub untrusted: Vec<(String, Source)>,
    /// Where the program keeps what is its own.
    pub own_places: Vec<PathBuf>,
    /// Where it keeps its data, if it has a place.
    pub data: Option<PathBuf>,
    /// What keeps and confines commands.
    pub program: Option<PathBuf>,
    /// Variables that commands see although their names say that they are secret.
    pub passed_variables: Vec<String>,
    /// What may be reached on the net.
    pub web: WebSettings,
    /// The root's system prompt.
    pub instructions: String,
    /// Whether agents are told what AGENTS.md say.
    pub agents_md: bool,
    /// What the tree may spend.
    pub allowance: Allowance,
    /// How many levels of agents there may be below the root.
    pub max_depth: u8,
    /// Whether there are any tools for delegation.
    pub delegates: bool,
    /// Whether agents below the root delegate too.
    pub nests: bool,
    /// How other agents are started.
    pub delegation: DelegationSettings,
    /// What remembers.
    pub journal: Journal,
    /// The file it remembers in.
    pub journal_path: PathBuf,
    /// What it survives.
    pub durability: Durability,
    /// Whether what commands do to files can be undone.
    pub undo_commands: bool,
    /// Whether what a root that completed its task changed is committed.
    pub auto_commit: bool,
    /// Whether the work tree is kept after each turn of the root.
    pub checkpoints: bool,
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
        let mut layer = None;
        for (index, assignment) in written.assignments.iter().enumerate() {
            if layer.replace(discriminant(&assignment.source))
                != Some(discriminant(&assignment.source))
            {
                config.rules.push(Rules::default());
            }
            config.set(assignment)?;
            if matches!(assignment.source, Source::Project { .. }) {
                assignment.check_project(&written.assignments[..index], around)?;
            }
        }
        config.break_off();
        #[cfg(not(feature = "sub-agents"))]
        {
            written.check_alone()?;
            config.delegates = false;
        }
        config.untrusted.clone_from(&written.untrusted);
        config.own_places = around.own_places(&config.journal_path);
        config.data = around.data();
        config.program.clone_from(&around.program);
        config.set_up_providers(written, around)?;
        #[cfg(feature = "mcp")]
        {
            config.servers = written.servers(std::mem::take(&mut config.server_settings))?;
        }
        config.hooks = written.hooks(std::mem::take(&mut config.hook_settings))?;
        written.check_allowed(&config.providers)?;
        written.check_breaker()?;
        Ok(config)
    }

    /// Holds the root to the calls after which it is stopped.
    fn break_off(&mut self) {
        let calls = [self.allowance.calls, self.delegation.most_calls];
        self.allowance.calls = calls.into_iter().flatten().min();
    }

    /// Reports whether there is a server of that name.
    #[cfg(feature = "mcp")]
    pub(crate) fn has_server(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name() == name)
    }

    /// Returns the rules of the layer that is being read.
    fn own_rules(&mut self) -> &mut Rules {
        if self.rules.is_empty() {
            self.rules.push(Rules::default());
        }
        let last = self.rules.len() - 1;
        &mut self.rules[last]
    }

    fn set(&mut self, assignment: &Assignment) -> Result<(), CliError> {
        let Assignment { key, subject, value, source } = assignment;
        let set = match key.set {
            Setter::Config(set) => set(self, value),
            Setter::Provider(set) => {
                let provider = subject.clone().unwrap_or_default();
                set(self.provider_settings.entry(provider).or_default(), value)
            }
            #[cfg(feature = "mcp")]
            Setter::Server(set) => {
                let server = subject.clone().unwrap_or_default();
                set(self.server_settings.entry(server).or_default(), value)
            }
            Setter::Hook(set) => {
                let hook = subject.clone().unwrap_or_default();
                set(self.hook_settings.entry(hook).or_default(), value)
            }
        };
        set.map_err(|wrong| {
            CliError::new(Kind::Config, format!("{source}: `{}` {wrong}", assignment.name()))
        })
    }

    fn set_up_providers(
        &mut self,
        written: &Written,
        around: &Surroundings,
    ) -> Result<(), CliError> {
        let settings = std::mem::take(&mut self.provider_settings);
        let providers = Providers::new(settings, &around.providers);
        let providers = providers.map_err(|unfit| written.complain(&unfit))?;
        let providers = providers.effort(self.reasoning).figures_in(around.figures_file());
        self.providers = Arc::new(providers);
        Ok(())
    }

    /// Returns the tamest there is, for the defaults to be written on. None of it is
    /// left when they have been.
    fn blank() -> Self {
        Self {
            preset: String::new(),
            model: None,
            reasoning: None,
            providers: Arc::default(),
            provider_settings: BTreeMap::new(),
            hooks: Vec::new(),
            hook_settings: BTreeMap::new(),
            #[cfg(feature = "mcp")]
            servers: Vec::new(),
            #[cfg(feature = "mcp")]
            server_settings: BTreeMap::new(),
            mode: Mode::Plan,
            rules: Vec::new(),
            untrusted: Vec::new(),
            own_places: Vec::new(),
            data: None,
            program: None,
            undo_commands: true,
            auto_commit: false,
            checkpoints: false,
            passed_variables: Vec::new(),
            web: WebSettings::default(),
            instructions: String::new(),
            agents_md: true,
            allowance: Allowance::default(),
            max_depth: 0,
            delegates: false,
            nests: false,
            delegation: DelegationSettings::default(),
            journal: Journal::File,
            journal_path: PathBuf::new(),
            durability: Durability::Power,
            settings: Settings::default(),
        }
    }
}

impl Written {
    /// Says where it is written what makes no provider.
    fn complain(&self, unfit: &Unfit) -> CliError {
        let Unfit { provider, setting, .. } = unfit;
        let is_about = |it: &&Assignment| {
            it.subject.as_ref() == Some(provider)
                && setting.is_none_or(|setting| it.key.name.ends_with(setting))
        };
        let place = self.assignments.iter().rfind(is_about).map(|it| format!("{}: ", it.source));
        let place = place.unwrap_or_default();
        let error = CliError::new(Kind::Config, format!("{place}{unfit}"));
        match nearest(provider, PROVIDERS.iter().map(|known| known.name)) {
            Some(meant) if meant != provider => error.hint(format!("did you mean `{meant}`?")),
            Some(_) | None => error,
        }
    }
}

impl Assignment {
    /// Refuses what a project's file may not say.
    fn check_project(&self, below: &[Self], around: &Surroundings) -> Result<(), CliError> {
        let Self { key, value, source, .. } = self;
        let name = self.name();
        let held = below.iter().rfind(|other| other.key.name == key.name);
        let refusal = match (key.project, held) {
            (Project::Never, _) => format!("{source}: a project may not set `{name}`"),
            (Project::Tighter, Some(held)) if key.is_looser(value, &held.value) => {
                format!("{source}: a project may not raise `{name}` from {} to {value}", held.value)
            }
            (Project::Any | Project::Tighter | Project::Trusted, _) => return Ok(()),
        };
        let mut hint = format!("set it in {}", around.user_file().display());
        // A stranger's commands and addresses are nothing to hold out to anybody.
        if key.project == Project::Tighter {
            hint += &format!(" or on the command line: -c '{name}={value}'");
        }
        Err(CliError::new(Kind::Config, refusal).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU64, time::Duration};

    use adjutant_engine::Unattended;

    use super::*;

    fn around() -> Surroundings {
        Surroundings {
            home: None,
            directory: "/nowhere".into(),
            config_home: "/nowhere/config".into(),
            data_home: "/nowhere/data".into(),
            variables: Vec::new(),
            providers: adjutant_models::Variables::default(),
            program: None,
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
        let mut unset = written.names();
        unset.retain(|(name, key)| {
            !name.starts_with("providers.")
                && !name.starts_with("hooks.")
                && !name.starts_with("mcp.")
                && written.effective(name, key).is_none()
        });
        let unset: Vec<_> = unset.iter().map(|(_, key)| key.name).collect();
        let budget = ["budget.tokens", "budget.usd", "budget.time", "budget.turns", "budget.calls"];
        let children = [
            "sub_agents.max_budget_per_agent",
            "sub_agents.blocking_tokens",
            "sub_agents.blocking_calls",
            "sub_agents.default_provider",
            "sub_agents.default_model",
        ];
        let breaker = ["breaker.warn_at", "breaker.pause_at", "breaker.hard_stop_at"];
        let expected = [&["model", "reasoning"], &budget[..], &children, &breaker].concat();
        assert_eq!(unset, expected);
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
        for (name, key) in written.names() {
            assert!(written.effective(&name, key).is_some(), "{name}");
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
        assert_eq!(config.max_depth, 1);
        assert_eq!(config.delegation.background.tokens, NonZeroU64::new(9));
        assert_eq!(config.delegation.blocking.time(), Some(Duration::from_secs(7)));
    }

    #[test]
    fn limits_and_retries_become_settings_of_the_engine() {
        let settings = load(&[
            ("limits.max_concurrent_agents", "1"),
            ("limits.max_children_per_agent", "2"),
            ("limits.max_concurrent_ops", "3"),
            ("limits.max_model_calls", "4"),
            ("limits.inactivity_timeout", "5"),
            ("limits.schema_repairs", "9"),
            ("retry.attempts", "6"),
            ("retry.base_ms", "7"),
            ("retry.cap_ms", "8"),
        ])
        .settings;
        assert_eq!(settings.max_concurrent_agents, 1);
        assert_eq!(settings.max_children_per_agent, 2);
        assert_eq!(settings.schema_repairs, 9);
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
            only: Vec::new(),
        };
        assert_eq!(config.rules.last(), Some(&expected));
    }
}
