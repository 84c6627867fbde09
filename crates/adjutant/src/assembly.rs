//! Puts a session together from its parts.

use std::{io::Write as _, sync::Arc};

use adjutant_core::{Allowance, Bus, Journal, Rulebook, SessionId, Tool, Vault, Workshop};
use adjutant_engine::{Parts, Session};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault, SqliteJournal};
use adjutant_tools::{
    CommandSettings, DelegationSettings, Environment, Files, Snapshots, Worktrees,
};
use uuid::Uuid;

use crate::{
    CliError,
    config::{self, Config},
    confining, git,
    hooks::hooks,
    keeping,
    screen::Aside,
    source::Source,
};

/// Where sessions have directories of their own.
const SESSIONS: &str = "sessions";

/// Returns the tools that are our own.
pub(crate) fn tools(config: &Config, files: &Arc<Files>) -> Vec<Arc<dyn Tool>> {
    let millis = u64::try_from(config.blocking_timeout.as_millis()).unwrap_or(u64::MAX);
    let delegation = DelegationSettings {
        sub_agent: Allowance { millis: millis.try_into().ok(), ..Allowance::default() },
        agent_spawn: Allowance { tokens: Some(config.spawn_budget), ..Allowance::default() },
        models: config.settings.allowed_models.clone(),
    };
    let commands = commands(config, files);
    let files = Arc::clone(files);
    let web = config.web.clone();
    adjutant_tools::all(&adjutant_tools::Settings { delegation, files, web, commands })
}

/// Returns what programs see of the environment.
fn environment(config: &Config) -> Environment {
    let keys = config.providers.iter().flat_map(|setup| setup.key_variables.clone()).collect();
    Environment { keys, passed: config.passed_variables.clone() }
}

fn commands(config: &Config, files: &Arc<Files>) -> CommandSettings {
    let is_undone = config.undo_commands && config.journal == config::Journal::File;
    let snapshots = || Arc::new(Snapshots::new(config.data.clone(), Arc::clone(files)));
    CommandSettings {
        keeper: keeping::keeper(),
        sandbox: confining::sandbox(),
        environment: environment(config),
        snapshots: is_undone.then(snapshots),
        warn: Some(|warning| {
            let _ = writeln!(Aside, "warning: {warning}");
        }),
    }
}

/// What a session is given besides its configuration.
pub(crate) struct Outfit<'a> {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) rulebook: Arc<dyn Rulebook>,
    /// What the tools know of files.
    pub(crate) files: Arc<Files>,
    /// What git is to keep of it.
    pub(crate) work: Option<&'a git::Work>,
}

/// Opens a session in which nothing runs yet.
pub(crate) fn open(
    config: &Config,
    source: &Source,
    outfit: Outfit<'_>,
) -> Result<Session, CliError> {
    let Outfit { tools, rulebook, files, work } = outfit;
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    let (journal, vault): (Arc<dyn Journal>, Arc<dyn Vault>) = match config.journal {
        config::Journal::Memory => {
            (Arc::new(MemoryJournal::new(Arc::clone(&bus))), Arc::new(MemoryVault::default()))
        }
        config::Journal::File => {
            let (path, durability) = (&config.journal_path, config.durability);
            let file = Arc::new(SqliteJournal::new(path, durability, Arc::clone(&bus)));
            (Arc::clone(&file) as _, file)
        }
    };
    let journal = work.map_or(Arc::clone(&journal), |work| work.follow(journal));
    let (models, journal) = (source.models(), source.follow(journal));
    let settings = source.settings(config.settings.clone());
    let id = SessionId::from(Uuid::now_v7());
    let hooks = hooks(config, &tools, environment(config))?;
    let directory = config.data.join(SESSIONS).join(id.to_string());
    let workshop: Option<Arc<dyn Workshop>> = Some(Arc::new(Worktrees { directory, files }));
    Ok(Session::open(
        id,
        Parts { models, tools, journal, vault, rulebook, hooks, workshop, bus, settings },
    ))
}
