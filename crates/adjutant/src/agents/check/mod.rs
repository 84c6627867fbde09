//! Looks for mistakes in agents' files that only show where they are used.

mod calls;
mod models;
pub(crate) mod passed_over;
mod places;
mod tools;

use std::sync::Arc;

use adjutant_core::{Grant, Models, Tool};
use adjutant_models::{Catalogue, Pace};

use super::{
    Agents,
    definition::Definition,
    format::Format,
    library::Entry,
    problem::{Problem, Severity},
    variables,
};
#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{CliError, Surroundings, assembly, authority, config::Config};

/// What agents' files are checked against.
pub(crate) struct Linter<'a> {
    agents: &'a Arc<Agents>,
    /// The tools there are, but for those of servers.
    tools: Vec<Arc<dyn Tool>>,
    #[cfg(feature = "mcp")]
    servers: Servers,
    models: Arc<dyn Models>,
    /// What the root may do.
    grant: Grant,
}

impl<'a> Linter<'a> {
    /// Looks at what there is.
    pub(crate) fn new(
        agents: &'a Arc<Agents>,
        config: &Config,
        #[cfg_attr(not(feature = "mcp"), expect(unused_variables, reason = "no servers"))]
        around: &Surroundings,
    ) -> Result<Self, CliError> {
        let kit = agents.kit(&agents.directory);
        let catalogue = Catalogue::new(Pace::Prompt).providers(Arc::clone(&config.providers));
        Ok(Self {
            agents,
            tools: assembly::tools(config, &Arc::default(), &kit),
            #[cfg(feature = "mcp")]
            servers: Servers::find(config, around, &agents.directory)?,
            models: Arc::new(catalogue),
            grant: authority::grant(config, &agents.directory, &[], None, None),
        })
    }

    /// Returns all that is wrong with a file.
    pub(crate) fn lint(&self, entry: &Entry) -> Vec<Problem> {
        let Some(definition) = &entry.definition else { return entry.problems.clone() };
        let mut findings = Findings { of: definition, problems: entry.problems.clone() };
        // Other products' files tell of a description that is missing where they are read, and
        // have no variables, so that theirs are only words.
        let is_ours = definition.origin.format == Format::Native;
        if is_ours && definition.description.trim().is_empty() {
            let why = "`description` is missing, so nobody is told what the agent is good for";
            findings.warn("description", "", why);
        }
        for name in variables::undeclared(definition).into_iter().filter(|_| is_ours) {
            let why =
                format!("`system_prompt` has `{{{{{name}}}}}`, and there is no such variable");
            findings.warn("system_prompt", "", why).hint =
                Some(format!("`[variables]` with `{name} = \"…\"` makes it one"));
        }
        self.check_tools(definition, &mut findings);
        findings.problems.extend(definition.idle_rules(&self.agents.besides));
        self.check_model(definition, &mut findings);
        self.check_places(definition, &mut findings);
        self.check_skills(definition, &mut findings);
        self.check_calls(definition, &mut findings);
        findings.problems
    }
}

/// What was found in a file.
struct Findings<'a> {
    of: &'a Definition,
    problems: Vec<Problem>,
}

impl Findings<'_> {
    /// Says what cannot be. Of another product's file, which is used as far as it goes, it is
    /// only odd.
    fn wrong(&mut self, field: &str, item: &str, why: impl Into<String>) -> &mut Problem {
        let is_ours = self.of.origin.format == Format::Native;
        let severity = if is_ours { Severity::Error } else { Severity::Warning };
        self.say(severity, field, item, why.into())
    }

    /// Says what is odd.
    fn warn(&mut self, field: &str, item: &str, why: impl Into<String>) -> &mut Problem {
        self.say(Severity::Warning, field, item, why.into())
    }

    fn say(&mut self, severity: Severity, field: &str, item: &str, why: String) -> &mut Problem {
        let line = self.of.line(&format!("{field}[{item}]")).or_else(|| self.of.line(field));
        self.problems.push_mut(Problem::of(severity, &self.of.origin.file, why).at(line))
    }
}
