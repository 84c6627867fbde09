//! A named agent as the root.

use std::{path::PathBuf, sync::Arc};

use adjutant_core::{Charter, Grant, Rules};

use super::{
    definition::{Callable, Definition, Owner},
    order::{Agents, CALL_AGENT},
};
use crate::{
    CliError,
    config::{Config, Written},
    error::Kind,
};

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
        config.allowance = config.allowance.capped(Some(*allowance));
        config.max_depth = children.depth.map_or(config.max_depth, |it| it.min(config.max_depth));
        self.workdir()
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
        Charter { mode, rules, access: wish.access, ..charter }
    }

    /// Returns all it is told before its task.
    pub(crate) async fn instructions(
        &self,
        grant: &Grant,
        workdir: &std::path::Path,
    ) -> Result<String, CliError> {
        let told = self.agents.instructions(&self.definition, grant, workdir).await;
        told.map_err(|why| self.wrong("files", &why))
    }

    /// Says that a field of the file cannot be honoured.
    pub(crate) fn wrong(&self, field: &str, why: &str) -> CliError {
        let file = self.definition.origin.file.display();
        let line = self.definition.line(field).map(|line| format!(":{line}")).unwrap_or_default();
        CliError::new(Kind::Config, format!("{file}{line}: {why}"))
    }
}
