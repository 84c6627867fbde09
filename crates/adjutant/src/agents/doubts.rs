//! What a person should know of the files of agents before one of them is run.

use std::{path::Path, sync::Arc};

use adjutant_core::Models as _;
use adjutant_models::{Catalogue, Pace, Providers};

use super::{
    definition::{Callable, Definition},
    format::Format,
    lead::Lead,
    library::{Entry, Library},
    order::{Agents, CALL_AGENT},
    problem::{Problem, Severity},
};
use crate::config::Config;

impl Library {
    /// Takes out of other products' files the models that cannot be had here, and says so. What
    /// names no provider is one of the caller's, whoever that is.
    pub(crate) fn forget_models(&mut self, providers: &Arc<Providers>) {
        let models = Catalogue::new(Pace::Prompt).providers(Arc::clone(providers));
        let foreign = self.iter().filter(|it| it.origin.format != Format::Native);
        for definition in foreign.cloned().collect::<Vec<_>>() {
            let Some(model) = definition.model.as_ref().filter(|model| model.contains('/')) else {
                continue;
            };
            let Err(error) = models.find(model) else { continue };
            let problem = definition.without_model(&error.message);
            self.replace(Definition { model: None, ..Definition::clone(&definition) }, &[problem]);
        }
    }
}

impl Definition {
    /// Says that its model cannot be had.
    pub(super) fn without_model(&self, why: &str) -> Problem {
        let model = self.model.as_deref().unwrap_or_default();
        let why = format!("`model` is `{model}`: {why}");
        let problem = Problem::of(Severity::Dropped, &self.origin.file, why);
        problem.at(self.line("model")).hint("it runs on the model that holds without this")
    }
}

impl Agents {
    /// Returns what is wrong with the file of the lead, and how much with those of the agents that
    /// may be called.
    pub(crate) fn doubts(&self, lead: Option<&Lead>, config: &Config) -> Vec<String> {
        let own = lead.map(|lead| lead.definition.origin.file.as_path());
        let is_own = |entry: &&Entry| Some(entry.file.as_path()) == own;
        let entries = self.library.entries.iter().filter(|entry| entry.shadowed_by.is_none());
        let mut doubts: Vec<_> = entries
            .clone()
            .filter(is_own)
            .flat_map(|entry| entry.problems.iter().map(Problem::aside))
            .collect();
        let reached = self.reached(lead, config);
        let others = entries.filter(|entry| !is_own(entry) && reached.contains(entry));
        let (mut count, mut files) = (0, 0);
        for entry in others.filter(|entry| !entry.problems.is_empty()) {
            count += entry.problems.len();
            files += 1;
        }
        if count > 0 {
            let problems = if count == 1 { "problem" } else { "problems" };
            let files = if files == 1 { "a file".to_owned() } else { format!("{files} files") };
            doubts.push(format!(
                "{count} {problems} in {files} of agents that may be called: `adjutant agents \
                 check` shows them"
            ));
        }
        doubts
    }

    fn reached(&self, lead: Option<&Lead>, config: &Config) -> Reached {
        let can_call = config.delegation.tools.iter().any(|tool| tool == CALL_AGENT);
        let lead = match lead {
            Some(lead) if config.delegates => lead,
            None if config.delegates && can_call => return Reached::All,
            Some(_) | None => return Reached::Only(Vec::new()),
        };
        let mut names = Vec::new();
        for definition in self.reachable(Some(lead)) {
            names.push(definition.name.clone());
            match &definition.callable {
                Callable::Nobody => {}
                Callable::Only(only) => names.extend(only.iter().cloned()),
                Callable::All => return Reached::All,
            }
        }
        Reached::Only(names)
    }
}

/// Whose files count.
enum Reached {
    All,
    Only(Vec<String>),
}

impl Reached {
    fn contains(&self, entry: &Entry) -> bool {
        let Self::Only(names) = self else { return true };
        let name = match &entry.definition {
            Some(definition) => Some(definition.name.as_str()),
            None => entry.file.file_stem().and_then(|stem| Path::new(stem).to_str()),
        };
        name.is_some_and(|name| names.iter().any(|other| other == name))
    }
}
