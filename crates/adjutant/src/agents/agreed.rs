//! What projects' agents would allow or start, and the person agreed to.

use std::{path::Path, sync::Arc};

use adjutant_core::Pattern;

use super::{
    definition::{Definition, Owner},
    library::Library,
    problem::{Problem, Severity},
};
use crate::{CliError, agreement::Agreements, error::Kind};

/// An agent of a project that would allow or start something.
#[derive(Clone, Debug)]
pub(crate) struct Wanting {
    definition: Arc<Definition>,
    project: std::path::PathBuf,
}

impl Wanting {
    /// Returns it, if a definition is one.
    fn of(definition: &Arc<Definition>) -> Option<Self> {
        let Owner::Project(project) = &definition.origin.owner else { return None };
        let wants = !definition.rules.allow.is_empty() || definition.has_servers();
        wants.then(|| Self { definition: Arc::clone(definition), project: project.clone() })
    }

    /// Reports whether the person agreed to the file as it is.
    pub(crate) fn is_agreed(&self, agreements: &Agreements) -> Result<bool, CliError> {
        let agreed = agreements.agreed(&self.project)?;
        let held = self.key().and_then(|key| agreed.agents.get(&key).cloned());
        Ok(held.is_some() && held == self.definition.origin.digest)
    }

    /// Writes down that the person agrees to the file as it is.
    pub(crate) fn agree(&self, agreements: &Agreements) -> Result<(), CliError> {
        let key = self.key().ok_or_else(|| {
            let why = format!("{}: its name is not UTF-8", self.file().display());
            CliError::new(Kind::Config, why).hint("rename the file to agree to what is in it")
        })?;
        let digest = self.definition.origin.digest.clone();
        agreements.agree(&self.project, |agreed| agreed.agents.extend(Some(key).zip(digest)))
    }

    /// Returns its file.
    pub(crate) fn file(&self) -> &Path {
        &self.definition.origin.file
    }

    /// Returns what it would allow.
    pub(crate) fn rules(&self) -> &[Pattern] {
        &self.definition.rules.allow
    }

    /// Returns what it would start.
    #[cfg(feature = "mcp")]
    pub(crate) fn servers(&self) -> &[adjutant_tools::mcp::Server] {
        &self.definition.servers
    }

    /// Returns its project.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// Returns what its file is written down as: its path in the project.
    fn key(&self) -> Option<String> {
        let within = self.file().strip_prefix(&self.project).ok()?;
        within.to_str().map(str::to_owned)
    }
}

impl Library {
    /// Returns the agents of projects that would allow or start something.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = Wanting> {
        self.iter().filter_map(Wanting::of)
    }

    /// Takes out of projects' agents what they would allow or start and nobody agreed to, and
    /// says so.
    pub(crate) fn distrust(&mut self, agreements: &Agreements) -> Result<(), CliError> {
        for wanting in self.wanting().collect::<Vec<_>>() {
            if wanting.is_agreed(agreements)? {
                continue;
            }
            let mut definition = Definition::clone(&wanting.definition);
            let mut dropped = Vec::new();
            definition.withheld = std::mem::take(&mut definition.rules.allow);
            if !definition.withheld.is_empty() {
                dropped.push(("permissions", "allow"));
            }
            if definition.forget_servers() {
                dropped.push((definition.servers_field(), "start"));
            }
            let named = self.named.iter().find(|named| wanting.file().starts_with(named));
            let flag = named.map(|named| format!(" --agents-dir {}", named.display()));
            let hint = format!("`adjutant trust{}` shows it", flag.unwrap_or_default());
            let problems = dropped.into_iter().map(|(field, what)| {
                let why = format!("`{field}`: what it would {what} does not hold until you agree");
                let problem = Problem::of(Severity::Dropped, wanting.file(), why);
                problem.at(definition.line(field)).hint(&*hint)
            });
            let problems: Vec<_> = problems.collect();
            self.replace(definition, &problems);
        }
        Ok(())
    }
}

impl Definition {
    #[cfg(feature = "mcp")]
    fn has_servers(&self) -> bool {
        !self.servers.is_empty()
    }

    #[cfg(not(feature = "mcp"))]
    fn has_servers(&self) -> bool {
        false
    }

    /// Forgets its servers, and reports whether there were any.
    #[cfg(feature = "mcp")]
    fn forget_servers(&mut self) -> bool {
        !std::mem::take(&mut self.servers).is_empty()
    }

    #[cfg(not(feature = "mcp"))]
    fn forget_servers(&mut self) -> bool {
        false
    }
}
