//! Trees of agents for other programs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Definitions, Mode, Models, NoRulebook, Report, Rulebook, SessionId, Tool};
use adjutant_engine::Schema;
use adjutant_models::Pace;
use serde_json::Value;
use uuid::Uuid;

#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{
    CliError, Surroundings,
    arguments::{AgentArguments, TapeArguments},
    assembled::{Assembled, Makings},
    assembly::{Builtins, Kit, tools},
    authority::{check_rules, doubts},
    cast::{Cast, Casting},
    choice::bad_figures,
    config::{Config, Written},
    embedded::Session,
    error::Kind,
    place::working_directory,
    programs::Program,
    rulebook::ProjectRulebook,
    source::{Source, Tape},
};

/// Runs trees of agents inside another program, as the command does.
///
/// ```
/// use adjutant::{Adjutant, core::Ending};
/// # let directory = std::env::temp_dir();
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let adjutant = Adjutant::builder().model("rehearsal").directory(directory).build()?;
/// let report = adjutant.run("Look around.").await?;
/// assert_eq!(report.outcome.ending, Ending::Completed);
/// # Ok::<_, adjutant::CliError>(()) }).unwrap();
/// ```
pub struct Adjutant {
    config: Config,
    kit: Kit,
    models: Option<Arc<dyn Models>>,
    model: String,
    directory: PathBuf,
    schema: Option<Arc<Value>>,
    around: Option<Surroundings>,
    cast: Option<Cast>,
}

/// What a tree is to be. Nothing is read from files or from the environment, unless
/// [`surroundings`](Self::surroundings) are given, and there are no tools but those that are
/// asked for.
#[must_use]
pub struct Builder {
    settings: Vec<(String, toml::Value)>,
    kit: Kit,
    models: Option<Arc<dyn Models>>,
    directory: Option<PathBuf>,
    journal: Option<PathBuf>,
    program: Option<PathBuf>,
    schema: Option<Arc<Value>>,
    around: Option<Surroundings>,
    named: AgentArguments,
    parameters: Vec<(String, String)>,
}

impl Builder {
    /// Sets any key of the configuration, as in `set("limits.max_depth", 2)`. It is checked when
    /// all is [built](Self::build); the last one counts.
    pub fn set(mut self, key: &str, value: impl Into<toml::Value>) -> Self {
        self.settings.push((key.to_owned(), value.into()));
        self
    }

    /// Chooses the tools for delegation and their limits: `adjutant` without this.
    pub fn preset(self, name: &str) -> Self {
        self.set("preset", name)
    }

    /// Names the model the root runs on: `anthropic/MODEL`, `rehearsal`, `scripted/FILE`, or one
    /// of your [own](Self::models).
    pub fn model(self, name: &str) -> Self {
        self.set("model", name)
    }

    /// Has models found here and nowhere else.
    pub fn models(self, models: Arc<dyn Models>) -> Self {
        Self { models: Some(models), ..self }
    }

    /// Says where agents work: in the current directory without this.
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), ..self }
    }

    /// Says how freely they act: as in `ask` without this.
    pub fn mode(self, mode: Mode) -> Self {
        self.set("mode", mode.name())
    }

    /// Says what the root is told before its task.
    pub fn instructions(self, text: &str) -> Self {
        self.set("instructions", text)
    }

    /// Has the answer fit a JSON Schema.
    pub fn output_schema(self, schema: Value) -> Self {
        Self { schema: Some(Arc::new(schema)), ..self }
    }

    /// Says whether there are the tools that look at files, change them, read pages and ask.
    pub fn builtins(mut self, are_offered: bool) -> Self {
        self.kit.builtins = if are_offered { Builtins::Offered } else { Builtins::Withheld };
        self
    }

    /// Says whether agents can start others, with the tools of the preset, and share notes.
    pub fn subagents(self, are_offered: bool) -> Self {
        self.set("sub_agents.enabled", are_offered)
    }

    /// Adds a tool of your own; [`erase`](crate::erase) makes one of a
    /// [`TypedTool`](crate::TypedTool).
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.kit.tools.push(tool);
        self
    }

    /// Has `call_agent` find named agents here.
    pub fn definitions(mut self, definitions: Arc<dyn Definitions>) -> Self {
        self.kit.definitions = Some(definitions);
        self
    }

    /// Has the root be a named agent, by its name or the path of its file. Needs
    /// [`surroundings`](Self::surroundings), in which its file is found.
    pub fn agent(mut self, name: &str) -> Self {
        self.named.agent = Some(name.to_owned());
        self
    }

    /// Has agents' files looked for in this directory first.
    pub fn agents_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.named.agents_dir = Some(directory.into());
        self
    }

    /// Sets a variable of the named agent that the root is, or a parameter of its model.
    pub fn parameter(mut self, name: &str, value: &str) -> Self {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Keeps the journal in a file below this directory, and there also what undoing needs and
    /// the worktrees of children. Without this it is in memory, and there are no worktrees.
    pub fn journal(self, directory: impl Into<PathBuf>) -> Self {
        Self { journal: Some(directory.into()), ..self }
    }

    /// Names the `adjutant` program, which keeps and confines commands. Without it there are no
    /// commands, hooks and MCP servers.
    pub fn program(self, program: impl Into<PathBuf>) -> Self {
        Self { program: Some(program.into()), ..self }
    }

    /// Has the user's and the project's files, and variables, count as they do for the command.
    /// What is set here counts more. `call_agent` then finds the agents in files, unless there are
    /// [`definitions`](Self::definitions).
    pub fn surroundings(self, around: Surroundings) -> Self {
        Self { around: Some(around), ..self }
    }

    /// Checks all of it. Starts nothing and writes nothing.
    pub fn build(self) -> Result<Adjutant, CliError> {
        let around = self.around()?;
        let directory = working_directory(&around, self.directory.as_deref())?;
        let is_found = self.around.is_some();
        let found = is_found.then_some(&*directory);
        let written = Written::given(&around, found, &self.settings())?;
        let mut config = Config::check(&written, &around)?;
        let cast = match found {
            Some(_) => Some(self.cast(&around, &directory, (&mut config, &written))?),
            None => self.refuse_agents().map(|()| None)?,
        };
        let directory = cast.as_ref().map_or(directory, |cast| cast.directory.clone());
        let source = source(self.models.as_ref(), &config, &directory);
        let model = model(&config, &*source.models())?;
        if let Some(Err(why)) = self.schema.as_deref().map(Schema::compile) {
            let wrong = format!("the answer's schema is no valid JSON Schema: {why}");
            return Err(CliError::new(Kind::Usage, wrong));
        }
        let tools = tools(&config, &Arc::default(), &self.kit);
        check_names(&tools)?;
        check_rules(&config.rules, &tools)?;
        let around = is_found.then_some(around);
        let own = cast.as_ref().and_then(|cast| cast.lead.as_ref()?.definition.schema.clone());
        let Self { kit, models, schema, .. } = self;
        let schema = schema.or(own);
        Ok(Adjutant { config, kit, models, model, directory, schema, around, cast })
    }

    fn cast(
        &self,
        around: &Surroundings,
        directory: &Path,
        config: (&mut Config, &Written),
    ) -> Result<Cast, CliError> {
        let Self { named, parameters, kit, .. } = self;
        let (tape, artifacts) = (&TapeArguments::default(), None);
        let casting = Casting { named, tape, artifacts, parameters, kit };
        casting.cast(around, directory.to_owned(), config)
    }

    /// Refuses what is about agents' files where none are read.
    fn refuse_agents(&self) -> Result<(), CliError> {
        let Self { named: AgentArguments { agent, agents_dir }, parameters, .. } = self;
        if agent.is_none() && agents_dir.is_none() && parameters.is_empty() {
            return Ok(());
        }
        let wrong = "`agent`, `agents_directory` and `parameter` need `surroundings`";
        Err(CliError::new(Kind::Usage, wrong).hint("without them no agent's file is read"))
    }

    fn around(&self) -> Result<Surroundings, CliError> {
        let mut around = match &self.around {
            Some(around) => around.clone(),
            None => Surroundings::bare(std::env::current_dir()?),
        };
        // Another program must not be started again as a keeper, which it is not.
        around.program.clone_from(&self.program);
        if let Some(place) = &self.journal {
            around.data_home = around.directory.join(place);
        }
        Ok(around)
    }

    /// Returns what was set, upon what holds for other programs where nobody says otherwise.
    fn settings(&self) -> Vec<(String, toml::Value)> {
        let journal = match (&self.journal, &self.around) {
            (Some(_), _) => Some("file"),
            (None, None) => Some("memory"),
            (None, Some(_)) => None,
        };
        let journal = journal.map(|journal| ("journal".to_owned(), journal.into()));
        let alone = [("sub_agents.enabled".to_owned(), false.into())];
        alone.into_iter().chain(journal).chain(self.settings.iter().cloned()).collect()
    }
}

/// Returns the model the root runs on: the one that was named, or else the default of the first
/// provider there is a key for.
fn model(config: &Config, models: &dyn Models) -> Result<String, CliError> {
    let default = || config.providers.default_model().map_err(bad_figures);
    let name = match config.model.clone() {
        Some(name) => Some(name),
        None => default()?.map(|(_, name)| name),
    };
    let name = name.ok_or_else(|| {
        let error = CliError::new(Kind::Usage, "no model is set");
        error.hint("`.model(\"…\")` names one; `rehearsal` needs no key")
    })?;
    models.find(&name).map_err(|error| CliError::new(Kind::Usage, error.to_string()))?;
    Ok(name)
}

/// Returns where the models of one tree come from. A script begins anew with each.
fn source(given: Option<&Arc<dyn Models>>, config: &Config, directory: &Path) -> Source {
    match given {
        Some(models) => Source::Given(Arc::clone(models)),
        None => Source::new(Tape::None, directory, &config.providers, Pace::Prompt),
    }
}

/// A name is all a model has to tell tools apart by.
fn check_names(tools: &[Arc<dyn Tool>]) -> Result<(), CliError> {
    let mut names = BTreeSet::new();
    match tools.iter().map(|tool| tool.spec()).find(|spec| !names.insert(spec.name.clone())) {
        None => Ok(()),
        Some(spec) => {
            let wrong = format!("there are two tools named `{}`", spec.name);
            Err(CliError::new(Kind::Usage, wrong).hint("give yours another name"))
        }
    }
}

impl Adjutant {
    /// Begins to say what a tree is to be.
    pub fn builder() -> Builder {
        Builder {
            settings: Vec::new(),
            kit: Kit { builtins: Builtins::Withheld, ..Kit::default() },
            models: None,
            directory: None,
            journal: None,
            program: None,
            schema: None,
            around: None,
            named: AgentArguments::default(),
            parameters: Vec::new(),
        }
    }

    /// Runs a task to its end, with nobody there to answer. If the future is dropped, the tree is
    /// stopped.
    pub async fn run(&self, task: &str) -> Result<Report, CliError> {
        Ok(self.start(task).await?.finish().await?.report)
    }

    /// Puts the root of a new tree to work.
    pub async fn start(&self, task: &str) -> Result<Session, CliError> {
        let Self { config, directory, around, cast, .. } = self;
        let (cast, id) = (cast.as_ref(), SessionId::from(Uuid::now_v7()));
        let kit = match cast {
            Some(cast) => cast.add_to(self.kit.clone(), config, id),
            None => self.kit.clone(),
        };
        let source = source(self.models.as_ref(), config, directory);
        let rulebook: Arc<dyn Rulebook> = match around {
            Some(around) => Arc::new(ProjectRulebook::find(around, directory)?),
            None => Arc::new(NoRulebook),
        };
        #[cfg(feature = "mcp")]
        let servers = match around {
            Some(around) => Servers::find(config, around, directory)?,
            None => Servers::of(config),
        };
        #[cfg(feature = "mcp")]
        let servers = match cast {
            Some(cast) => servers.with_agents(&cast.agents, cast.lead.as_ref()),
            None => servers,
        };
        let programs = Program::hooks(config, directory).into_iter();
        #[cfg(feature = "mcp")]
        let programs = programs.chain(servers.programs(directory));
        let assembled = Assembled::new(Makings {
            config,
            source: &source,
            kit: &kit,
            lead: cast.and_then(|cast| cast.lead.clone()),
            model: self.model.clone(),
            directory: directory.clone(),
            task: task.to_owned(),
            schema: self.schema.clone(),
            manner: cast.map(|cast| cast.manner.clone()).unwrap_or_default(),
            programs: programs.collect(),
            #[cfg(feature = "mcp")]
            servers,
            rulebook,
            memory: cast.map(|cast| cast.keeping(config, None)),
            session: id,
        });
        let warnings = cast.into_iter().flat_map(|cast| cast.warnings.clone());
        let warnings = warnings.chain(doubts(config));
        Session::begin(assembled.await?, warnings).await
    }
}
