//! Puts a session together from its parts.

use std::sync::Arc;

use adjutant_core::{Bus, Definitions, Journal, Rulebook, SessionId, Tool, Vault, Workshop};
use adjutant_engine::{Parts, Session};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault, SqliteJournal};
use adjutant_tools::{
    ArtifactSettings, CommandSettings, DELEGATION_TOOLS, Environment, Files, Snapshots, Worktrees,
    sandbox::Seals, skills::Skills,
};

use crate::{
    CliError,
    config::{self, Config},
    confining, git,
    hooks::hooks,
    keeping,
    memory::Keeping,
    screen::say,
    source::Source,
};

/// Where sessions have directories of their own.
const SESSIONS: &str = "sessions";

/// What needs something that keeps commands.
const COMMANDS: [&str; 4] = ["run_command", "read_output", "write_input", "stop_command"];

/// What is of use among several agents, besides the tools that start them.
const AMONG_AGENTS: [&str; 2] = ["send_message", "peers"];

/// Which tools there are, as far as the configuration does not say.
#[derive(Clone)]
pub(crate) struct Kit {
    pub(crate) builtins: Builtins,
    /// Tools of others.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The named agents.
    pub(crate) definitions: Option<Arc<dyn Definitions>>,
    /// Where agents hand back files.
    pub(crate) artifacts: ArtifactSettings,
    /// The skills there are.
    pub(crate) skills: Arc<Skills>,
    /// What the root is told besides its instructions, unless it is a named agent.
    pub(crate) guidance: Option<String>,
}

/// Whether there are the tools that come with the program, besides those for delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtins {
    Offered,
    Withheld,
}

impl Default for Kit {
    fn default() -> Self {
        Self {
            builtins: Builtins::Offered,
            tools: Vec::new(),
            definitions: None,
            artifacts: ArtifactSettings::default(),
            skills: Arc::default(),
            guidance: None,
        }
    }
}

/// Returns the tools, but for those of servers.
pub(crate) fn tools(config: &Config, files: &Arc<Files>, kit: &Kit) -> Vec<Arc<dyn Tool>> {
    let models = config.settings.allowed_models.clone();
    let provider = config.settings.child_provider.clone();
    let delegation = config.delegation.clone();
    let mut tools = adjutant_tools::all(&adjutant_tools::Settings {
        delegation: adjutant_tools::DelegationSettings { models, provider, ..delegation },
        definitions: kit.definitions.clone(),
        skills: Arc::clone(&kit.skills),
        files: Arc::clone(files),
        web: config.web.clone(),
        artifacts: kit.artifacts.clone(),
        commands: commands(config, files),
    });
    tools.retain(|tool| {
        let name = &*tool.spec().name;
        if is_among_agents(name) {
            return config.delegates;
        }
        let can_run = config.program.is_some() || !COMMANDS.contains(&name);
        kit.builtins == Builtins::Offered && can_run
    });
    tools.extend(kit.tools.iter().cloned());
    tools
}

/// Reports whether a tool is of no use to an agent that is alone.
pub(crate) fn is_among_agents(name: &str) -> bool {
    DELEGATION_TOOLS.contains(&name) || AMONG_AGENTS.contains(&name)
}

/// Returns what programs see of the environment.
pub(crate) fn environment(config: &Config) -> Environment {
    let keys = config.providers.iter().flat_map(|setup| setup.key_variables.clone()).collect();
    Environment { keys, passed: config.passed_variables.clone() }
}

fn commands(config: &Config, files: &Arc<Files>) -> CommandSettings {
    let is_undone = config.undo_commands && config.journal == config::Journal::File;
    let data = config.data.as_ref().filter(|_| is_undone);
    let program = config.program.as_deref();
    CommandSettings {
        keeper: program.map(keeping::keeper),
        sandbox: program.map(confining::sandbox).unwrap_or_default(),
        environment: environment(config),
        hidden: config.own_places.clone(),
        snapshots: data.map(|data| Arc::new(Snapshots::new(data.clone(), Arc::clone(files)))),
        warn: Some(|warning| say(&format!("warning: {warning}"))),
    }
}

/// What a session is given besides its configuration.
pub(crate) struct Outfit<'a> {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) rulebook: Arc<dyn Rulebook>,
    /// What the tools know of files.
    pub(crate) files: Arc<Files>,
    /// The files that are run outside the sandbox.
    pub(crate) seals: Arc<Seals>,
    /// What git is to keep of it.
    pub(crate) work: Option<&'a git::Work>,
    /// What agents are to remember of it.
    pub(crate) memory: Option<&'a Keeping>,
    /// Which session it is to be.
    pub(crate) session: SessionId,
}

/// Opens a session in which nothing runs yet.
pub(crate) fn open(
    config: &Config,
    source: &Source,
    outfit: Outfit<'_>,
) -> Result<Session, CliError> {
    let Outfit { tools, rulebook, files, seals, work, memory, session: id } = outfit;
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
    let journal = memory.map_or(Arc::clone(&journal), |memory| memory.follow(journal));
    let (models, journal) = (source.models(), source.follow(journal));
    let settings = source.settings(config.settings.clone());
    let hooks = hooks(config, &tools, environment(config), seals)?;
    let workshop = config.data.as_ref().map(|data| {
        let directory = data.join(SESSIONS).join(id.to_string());
        Arc::new(Worktrees { directory, files }) as Arc<dyn Workshop>
    });
    Ok(Session::open(
        id,
        Parts { models, tools, journal, vault, rulebook, hooks, workshop, bus, settings },
    ))
}
