//! A named agent as the root.

use std::{path::PathBuf, sync::Arc};

use adjutant_core::{Charter, Grant, Isolation, Models as _, Rules, Tool};
use adjutant_models::{Catalogue, Pace, Providers};

use super::{
    definition::{Callable, Definition, Owner},
    format::Format,
    order::{Agents, CALL_AGENT},
    problem::{Problem, Severity},
    variables::{self, Values},
};
use crate::{
    CliError,
    config::{Config, Written},
    error::Kind,
};

/// Why the root works where it is started.
const UNDIVIDED: &str =
    "`isolation`: an agent cannot have a worktree of its own when you run it yourself";

/// A named agent as the root.
#[derive(Clone)]
pub(crate) struct Lead {
    pub(crate) agents: Arc<Agents>,
    pub(crate) definition: Arc<Definition>,
}

impl Lead {
    /// Has the agent's file narrow what the configuration gives, and returns where it works, if the
    /// file says. What is said on the command line or in the environment counts more.
    pub(crate) fn settle(
        &self,
        config: &mut Config,
        written: &Written,
    ) -> Result<Option<PathBuf>, CliError> {
        let Definition { children, allowance, model, callable, .. } = &*self.definition;
        if let (Some(model), false) = (model, written.is_commanded("model")) {
            config.model = Some(model.clone());
        }
        let tools = &config.delegation.tools;
        if *callable != Callable::Nobody && !tools.iter().any(|tool| tool == CALL_AGENT) {
            config.delegation.tools.push(CALL_AGENT.to_owned());
        }
        self.agents
            .check_places(&self.definition)
            .map_err(|(field, why)| self.wrong(field, &why))?;
        self.agents
            .check_rules(&self.definition)
            .map_err(|problem| CliError::new(Kind::Config, problem.aside()))?;
        if self.definition.isolation == Isolation::Worktree {
            return Err(self
                .wrong("isolation", UNDIVIDED)
                .hint("leave it out, or have another agent call it"));
        }
        config.allowance = config.allowance.capped(Some(*allowance));
        config.max_depth = children.depth.map_or(config.max_depth, |it| it.min(config.max_depth));
        self.workdir()
    }

    /// Fills in the variables of the agent.
    pub(crate) fn fill(&mut self, values: &Values) -> Result<(), CliError> {
        let filled = variables::filled(&self.definition, values);
        let filled = filled.map_err(|why| {
            let error = self.wrong("variables", &why);
            error.hint("`--param NAME=VALUE` sets it")
        })?;
        self.definition = Arc::new(filled);
        Ok(())
    }

    /// Forgets a model in another product's file that names no provider and is none there is, and
    /// says so: the root has no caller whose provider it could be one of.
    pub(crate) fn forget_model(&mut self, providers: &Arc<Providers>) -> Option<String> {
        let model = self.definition.model.as_ref()?;
        if self.definition.origin.format == Format::Native || model.contains('/') {
            return None;
        }
        let models = Catalogue::new(Pace::Prompt).providers(Arc::clone(providers));
        let problem = self.definition.without_model(&models.find(model).err()?.message);
        Arc::make_mut(&mut self.definition).model = None;
        Some(problem.aside())
    }

    /// Forgets that an agent in another product's file is to have a worktree, and says so.
    pub(crate) fn forget_isolation(&mut self) -> Option<String> {
        let Definition { origin, isolation, .. } = &*self.definition;
        if origin.format == Format::Native || *isolation == Isolation::Shared {
            return None;
        }
        let problem = Problem::of(Severity::Dropped, &origin.file, UNDIVIDED);
        let problem = problem.at(self.definition.line("isolation"));
        Arc::make_mut(&mut self.definition).isolation = Isolation::Shared;
        Some(problem.hint("it has one where another agent calls it").aside())
    }

    /// Refuses agents to be called that are not there, and tells why none can be called.
    pub(crate) fn check_callable(&self, config: &Config) -> Result<Option<String>, CliError> {
        let Definition { callable, .. } = &*self.definition;
        if let Callable::Only(names) = callable {
            let library = &self.agents.library;
            let missing = names.iter().find(|name| library.get(name).is_none());
            if let Some(Err(error)) = missing.map(|name| library.find(name)) {
                let place = self.definition.place("sub_agents");
                return Err(error.before(&format!("{place}: `sub_agents`: ")));
            }
        }
        let why = match (callable, config.delegates, config.max_depth) {
            (Callable::Nobody, _, _) => return Ok(None),
            (_, false, _) => "`sub_agents.enabled` is `false`",
            (_, _, 0) => "there may be no level of agents below it",
            (_, true, _) => return Ok(None),
        };
        let place = self.definition.place("sub_agents");
        Ok(Some(format!("{place}: `sub_agents` is of no use: {why}")))
    }

    /// Puts our names in the place of other products' in the list of tools, and refuses what is no
    /// tool. In another product's file that is only left out.
    pub(crate) fn check_tools(&mut self, tools: &[Arc<dyn Tool>]) -> Result<(), CliError> {
        let (access, absent) = self.definition.access_to(tools);
        let is_ours = self.definition.origin.format == Format::Native;
        if let (true, Some(problem)) = (is_ours, absent.first()) {
            return Err(CliError::new(Kind::Config, problem.aside()));
        }
        Arc::make_mut(&mut self.definition).access = access;
        Ok(())
    }

    fn workdir(&self) -> Result<Option<PathBuf>, CliError> {
        let Some(named) = &self.definition.workdir else { return Ok(None) };
        let found = self.agents.workdir(named).map_err(|why| self.wrong("workdir", &why))?;
        if let Owner::Project(project) = &self.definition.origin.owner
            && !found.starts_with(project)
        {
            let why = format!("`workdir` {} is outside the project", found.display());
            return Err(self.wrong("workdir", &why));
        }
        Ok(Some(found))
    }

    /// Narrows the authority of a root to what the agent's file says.
    pub(crate) fn charter(&self, charter: Charter) -> Charter {
        let wish = self.definition.wish();
        let Rules { allow, ask, deny, only } = wish.rules;
        let mut rules = charter.rules;
        // What the person says themselves counts more than what a file of theirs allows, and
        // less than what it forbids.
        rules.insert(0, Rules { allow, ..Rules::default() });
        rules.push(Rules { ask, deny, only, ..Rules::default() });
        let mode = wish.mode.map_or(charter.mode, |mode| mode.min(charter.mode));
        Charter { mode, rules, access: wish.access.passing(&wish.passes), ..charter }
    }

    /// Returns all it is told before its task.
    pub(crate) async fn instructions(
        &self,
        grant: &Grant,
        workdir: &std::path::Path,
    ) -> Result<String, CliError> {
        let told = self.agents.instructions(&self.definition, grant, workdir).await;
        told.map_err(|(field, why)| self.wrong(field, &why))
    }

    /// Says that a field of the file cannot be honoured.
    pub(crate) fn wrong(&self, field: &str, why: &str) -> CliError {
        CliError::new(Kind::Config, format!("{}: {why}", self.definition.place(field)))
    }
}
