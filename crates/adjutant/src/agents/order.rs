//! What a named agent is ordered to be.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Access, Allowance, Caller, Definitions, Grant, Limits, Listed, Order, Wish};
use futures_util::future::BoxFuture;

use super::{
    definition::{Callable, Definition},
    lead::Lead,
    library::Library,
    prompt,
};
use crate::{CliError, Surroundings, arguments::RunArguments};

/// The longest description of an agent that others are told.
const LONGEST_DESCRIPTION: usize = 300;

/// What an agent calls others with.
pub(super) const CALL_AGENT: &str = "call_agent";

/// The agents of a session.
pub(crate) struct Agents {
    pub(crate) library: Library,
    /// Where the session works: what relative directories in files start from.
    pub(crate) directory: PathBuf,
}

impl Definitions for Agents {
    fn callable(&self, caller: Option<&str>) -> Vec<Listed> {
        let listed = |definition: &Arc<Definition>| Listed {
            name: definition.name.clone(),
            description: brief(&definition.description),
        };
        match self.list(caller) {
            Callable::Nobody => Vec::new(),
            Callable::All => self.library.iter().map(listed).collect(),
            Callable::Only(names) => {
                names.iter().filter_map(|name| self.library.get(name)).map(listed).collect()
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
        arguments: &RunArguments,
        around: &Surroundings,
        directory: &Path,
    ) -> Result<Self, CliError> {
        let beside = arguments.agent.as_deref().filter(|name| is_file(name)).map(Path::new);
        let beside = beside.and_then(Path::parent);
        let named = arguments.agents_dir.as_deref().or(beside);
        let named = named.map(|named| around.directory.join(named));
        let library = Library::read(around, directory, named.as_deref());
        Ok(Self { library, directory: directory.to_owned() })
    }

    /// Returns the agent that the root is to be, by its name or its file.
    pub(crate) fn lead(self: &Arc<Self>, named: Option<&str>) -> Result<Option<Lead>, CliError> {
        let Some(named) = named else { return Ok(None) };
        let name = match is_file(named) {
            true => Path::new(named).file_stem().and_then(|stem| stem.to_str()).unwrap_or(named),
            false => named,
        };
        let definition = Arc::clone(self.library.find(name)?);
        Ok(Some(Lead { agents: Arc::clone(self), definition }))
    }

    /// Returns whom an agent may call; one without a name may call all.
    fn list(&self, caller: Option<&str>) -> Callable {
        match caller {
            None => Callable::All,
            Some(name) => self.library.get(name).map(|it| it.callable.clone()).unwrap_or_default(),
        }
    }

    async fn child(&self, definition: &Definition, caller: Caller<'_>) -> Result<Order, String> {
        let own = definition.workdir.as_deref();
        let workdir = own.map(|own| self.workdir(own)).transpose()?;
        let workdir = workdir.map(|workdir| caller.grant.place_of(&workdir));
        let place = workdir.as_deref().unwrap_or(caller.workdir);
        let instructions = self.instructions(definition, caller.grant, place).await?;
        let above = caller.agent.and_then(|name| self.library.get(name));
        let allowance = definition.allowance.capped(above.map(|above| above.for_children()));
        let authority = Wish { scope: workdir.clone(), ..definition.wish() };
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

    /// Returns all an agent is told before its task.
    pub(super) async fn instructions(
        &self,
        definition: &Definition,
        grant: &Grant,
        workdir: &Path,
    ) -> Result<String, String> {
        prompt::assemble(definition, grant, workdir).await
    }
}

impl Definition {
    /// Returns what it would like of its caller's authority.
    pub(super) fn wish(&self) -> Wish {
        let mut access = self.access.clone();
        if let Access::AllowList { tools } = &mut access
            && self.callable != Callable::Nobody
        {
            tools.insert(CALL_AGENT.to_owned());
        }
        let depth = self.children.depth;
        Wish { mode: self.mode, rules: self.rules.clone(), access, scope: None, depth }
    }

    /// Returns what each agent it calls may spend at most.
    fn for_children(&self) -> Allowance {
        let millis = self.children.timeout.map(|seconds| {
            seconds.saturating_mul(const { std::num::NonZeroU64::new(1000).unwrap() })
        });
        Allowance { millis, ..Allowance::default() }
    }
}

/// Reports whether an agent is named by the path of its file.
fn is_file(name: &str) -> bool {
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
