//! What a named agent is ordered to be.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{
    Access, AgentPath, Allowance, Caller, Definitions, Grant, Limits, Listed, Order, Wish,
    grant::names,
};
use futures_util::future::BoxFuture;

use super::{
    definition::{Audience, Callable, Definition, Guidance},
    format::Format,
    lead::Lead,
    library::Library,
    problem::{Problem, Severity},
    prompt::{self, Besides},
    told::Told,
    variables::{self, Values},
};
use crate::{
    CliError, Surroundings,
    agreement::Agreements,
    arguments::AgentArguments,
    artifacts,
    assembly::{self, Kit},
    config::Config,
    error::Kind,
    memory::{Shelf, Tape, recall},
};

/// The longest description of an agent that others are told.
const LONGEST_DESCRIPTION: usize = 300;

/// What an agent calls others with.
pub(super) const CALL_AGENT: &str = "call_agent";

/// What an agent reads the files of its skills with.
const SKILL: &str = "skill";

/// What an agent hands back files with.
const WRITE_ARTIFACT: &str = "write_artifact";

/// The agents of a session.
pub(crate) struct Agents {
    pub(crate) library: Library,
    /// Where the session works: what relative directories in files start from.
    pub(crate) directory: PathBuf,
    /// Where what they remember is.
    pub(crate) shelf: Shelf,
    /// What files besides their own tell them.
    pub(crate) told: Told,
    /// The tools there are besides those that come with the program, but for servers'.
    pub(super) besides: BTreeSet<String>,
}

impl Definitions for Agents {
    fn callable(&self, caller: Option<&str>) -> Vec<Listed> {
        let listed = |definition: &Arc<Definition>| Listed {
            name: definition.name.clone(),
            description: brief(&definition.description),
        };
        let is_open = |it: &&Arc<Definition>| it.audience == Audience::Everyone;
        match self.list(caller) {
            Callable::Nobody => Vec::new(),
            Callable::All => self.library.iter().filter(is_open).map(listed).collect(),
            Callable::Only(names) => {
                let found = names.iter().filter_map(|name| self.library.get(name));
                found.filter(is_open).map(listed).collect()
            }
        }
    }

    fn order<'a>(
        &'a self,
        caller: Caller<'a>,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Order, String>> {
        Box::pin(async move {
            let definition =
                self.library.get(name).ok_or_else(|| format!("there is no `{name}`"))?;
            self.child(definition, caller).await
        })
    }
}

impl Agents {
    /// Reads the agents for a run. One that is named by the path of its file brings those beside
    /// it.
    pub(crate) fn find(
        arguments: &AgentArguments,
        around: &Surroundings,
        directory: &Path,
    ) -> Result<Self, CliError> {
        let beside = arguments.agent.as_deref().filter(|name| is_file(name)).map(Path::new);
        let beside = beside.and_then(Path::parent);
        let named = named_directories(around, beside.as_slice(), arguments.agents_dir.as_deref())?;
        Self::read(around, directory, &named)
    }

    /// Reads all agents there are for who works in a directory, and before them those in the
    /// directories that a person named.
    pub(super) fn read(
        around: &Surroundings,
        directory: &Path,
        named: &[PathBuf],
    ) -> Result<Self, CliError> {
        let mut library = Library::read(around, directory, named);
        library.distrust(&Agreements::of(around))?;
        Ok(Self::new(library, around, directory))
    }

    /// Makes those of a library the agents of a session in a directory.
    pub(crate) fn new(mut library: Library, around: &Surroundings, directory: &Path) -> Self {
        let shelf = Shelf::new(around.data(), directory, Tape::Off);
        let told = Told::read(around, directory, &mut library);
        let (directory, besides) = (directory.to_owned(), BTreeSet::new());
        Self { library, directory, shelf, told, besides }
    }

    /// Takes out of other products' files the tools that there are not with a configuration and a
    /// kit.
    pub(crate) fn forget_tools(&mut self, config: &Config, kit: &Kit) {
        self.besides = kit.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        // To make the tools takes a while, and few have such files.
        if self.library.iter().any(|it| it.origin.format != Format::Native) {
            self.library.forget_tools(&assembly::tools(config, &Arc::default(), kit));
        }
    }

    /// Returns the agent that the root is to be, by its name or its file, whose path starts here.
    pub(crate) fn lead(
        self: &Arc<Self>,
        named: Option<&str>,
        here: &Path,
    ) -> Result<Option<Lead>, CliError> {
        let Some(named) = named else { return Ok(None) };
        let definition = match is_file(named) {
            true => self.library.find_file(&here.join(named))?,
            false => self.library.find(named)?,
        };
        if definition.audience == Audience::Nobody {
            let why = format!("{}: `disable` keeps it from being run", definition.place("disable"));
            return Err(CliError::new(Kind::Config, why));
        }
        Ok(Some(Lead { agents: Arc::clone(self), definition: Arc::clone(definition) }))
    }

    /// Returns what there is because of them, for a session in a directory.
    pub(crate) fn kit(self: &Arc<Self>, directory: &Path) -> Kit {
        let kit = Kit { definitions: Some(Arc::clone(self) as _), ..Kit::default() };
        self.told.add_to(kit, directory)
    }

    /// Returns every agent that may come to be: the lead and whom it may call, and so on; without
    /// a lead, all that can be called.
    pub(crate) fn reachable(&self, lead: Option<&Lead>) -> Vec<&Arc<Definition>> {
        let mut names: Vec<_> = match lead {
            Some(lead) => vec![lead.definition.name.clone()],
            None => self.callable(None).into_iter().map(|listed| listed.name).collect(),
        };
        let mut place = 0;
        while let Some(name) = names.get(place) {
            let next = self.callable(Some(name)).into_iter().map(|listed| listed.name);
            let next: Vec<_> = next.filter(|name| !names.contains(name)).collect();
            names.extend(next);
            place += 1;
        }
        names.iter().filter_map(|name| self.library.get(name)).collect()
    }

    /// Returns whom an agent may call; one without a name may call all.
    fn list(&self, caller: Option<&str>) -> Callable {
        match caller {
            None => Callable::All,
            Some(name) => self.library.get(name).map(|it| it.callable.clone()).unwrap_or_default(),
        }
    }

    /// Refuses an agent that could not be started by another, as far as that can be known before.
    pub(super) fn check_child(&self, definition: &Definition) -> Result<(), String> {
        self.check_places(definition).map_err(|(_, why)| why)?;
        self.check_rules(definition).map_err(|problem| problem.aside())?;
        variables::filled(definition, &Values::new())?;
        definition.workdir.as_deref().map(|own| self.workdir(own)).transpose()?;
        self.told.own_skills(&definition.name).map(|_| ())
    }

    async fn child(&self, definition: &Definition, caller: Caller<'_>) -> Result<Order, String> {
        self.check_child(definition)?;
        let definition = &variables::filled(definition, &Values::new())?;
        let own = definition.workdir.as_deref();
        let workdir = own.map(|own| self.workdir(own)).transpose()?;
        let workdir = workdir.map(|workdir| caller.grant.place_of(&workdir));
        let place = workdir.as_deref().unwrap_or(caller.workdir);
        let authority = Wish { scope: workdir.clone(), ..definition.wish() };
        // If there cannot be such a child, then its order is refused.
        let own = caller.grant.narrow(AgentPath::root(), &authority).map(|(grant, _)| grant);
        let grant = own.as_ref().unwrap_or(caller.grant);
        let instructions = self.instructions(definition, grant, place).await;
        let instructions = instructions.map_err(|(_, why)| why)?;
        let above = caller.agent.and_then(|name| self.library.get(name));
        let allowance = definition.allowance.capped(above.map(|above| above.for_children()));
        Ok(Order {
            name: definition.name.clone(),
            agent: Some(definition.name.clone()),
            model: definition.model.clone(),
            instructions: Some(instructions),
            schema: definition.schema.clone(),
            limits: Limits { authority, allowance, ..Limits::default() },
            isolation: definition.isolation,
            workdir,
            manner: definition.manner.clone(),
            ..Order::default()
        })
    }

    /// Returns a directory that a file names, with every link resolved.
    pub(super) fn workdir(&self, named: &Path) -> Result<PathBuf, String> {
        let path = self.directory.join(named);
        let wrong = |why: &dyn std::fmt::Display| format!("`workdir` {}: {why}", path.display());
        let real = path.canonicalize().map_err(|error| wrong(&error))?;
        if real.is_dir() { Ok(real) } else { Err(wrong(&"it is no directory")) }
    }

    /// Refuses places that a file names and may not: the field, and why.
    pub(super) fn check_places(
        &self,
        definition: &Definition,
    ) -> Result<(), (&'static str, String)> {
        self.shelf
            .book(definition)
            .map_err(|why| ("memory.path", format!("`memory.path` {why}")))?;
        let own = artifacts::own(definition, &self.directory);
        own.map_err(|why| ("artifacts.dir", format!("`artifacts.dir` {why}")))?;
        Ok(())
    }

    /// Refuses rules that would hold nobody back.
    pub(super) fn check_rules(&self, definition: &Definition) -> Result<(), Problem> {
        let mut wrong = definition.idle_rules(&self.besides).into_iter();
        wrong.find(|problem| problem.severity == Severity::Error).map_or(Ok(()), Err)
    }

    /// Returns all an agent is told before its task, or which field is wrong, and why.
    pub(super) async fn instructions(
        &self,
        definition: &Definition,
        grant: &Grant,
        workdir: &Path,
    ) -> Result<String, (&'static str, String)> {
        let skills = self.told.own_skills(&definition.name).map_err(|why| ("skill", why))?;
        let memory = recall(&self.shelf, definition).await.map_err(|why| ("memory", why))?;
        let place = grant.original(workdir);
        let guidance = match definition.guidance {
            Guidance::Told => {
                self.told.guidance(&place).or_else(|| self.told.guidance(&self.directory))
            }
            Guidance::Omitted => None,
        };
        let besides = Besides { skills, memory, guidance };
        prompt::assemble(definition, besides, grant, workdir).await
    }
}

impl Definition {
    /// Returns what it would like of its caller's authority.
    pub(super) fn wish(&self) -> Wish {
        let mut access = self.access.clone();
        if let Access::AllowList { tools } = &mut access {
            #[cfg(feature = "mcp")]
            tools.extend(self.servers.iter().map(|server| server.prefix() + "*"));
            if self.callable != Callable::Nobody {
                tools.insert(CALL_AGENT.to_owned());
            }
        }
        let depth = self.children.depth;
        let passes = [SKILL, WRITE_ARTIFACT].map(str::to_owned).into();
        Wish { mode: self.mode, rules: self.rules.clone(), access, passes, scope: None, depth }
    }

    /// Reports whether its list of tools leaves it no skills but its own.
    pub(super) fn has_only_own_skills(&self) -> bool {
        let mut access = self.access.clone();
        access.rename(|_| false);
        matches!(access, Access::AllowList { .. }) && !access.names().any(|it| names(it, SKILL))
    }

    /// Returns what each agent it calls may spend at most.
    fn for_children(&self) -> Allowance {
        let millis = self.children.timeout.map(|seconds| {
            seconds.saturating_mul(const { std::num::NonZeroU64::new(1000).unwrap() })
        });
        Allowance { millis, ..Allowance::default() }
    }
}

/// Returns the directories that a person named: where an agent's file is, and one given as such,
/// which has to be there.
pub(crate) fn named_directories(
    around: &Surroundings,
    beside: &[&Path],
    given: Option<&Path>,
) -> Result<Vec<PathBuf>, CliError> {
    let given = given.map(|given| around.directory.join(given));
    if let Some(missing) = given.as_ref().filter(|given| !given.is_dir()) {
        let why = format!("`--agents-dir` {}: there is no such directory", missing.display());
        return Err(CliError::new(Kind::Usage, why));
    }
    Ok(beside.iter().map(|beside| around.directory.join(beside)).chain(given).collect())
}

/// Reports whether an agent is named by the path of its file.
pub(super) fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml") || name.ends_with(".md")
}

/// Returns the beginning of a description, in one line.
fn brief(description: &str) -> String {
    let mut line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LONGEST_DESCRIPTION {
        line.truncate(line.floor_char_boundary(LONGEST_DESCRIPTION));
        line.push('…');
    }
    line
}
