//! What a person should know of the files of agents before one of them is run.

use std::{path::Path, sync::Arc};

use adjutant_core::{Access, Models as _, Tool, grant::names};
use adjutant_models::{Catalogue, Pace, Providers};

use super::{
    definition::{Callable, Definition},
    format::Format,
    lead::Lead,
    library::{Entry, Library},
    order::{Agents, CALL_AGENT},
    problem::{Problem, Severity},
};
use crate::{config::Config, nearest::nearest};

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

    /// Takes out of other products' files the tools that there are not here, and says so.
    pub(crate) fn forget_tools(&mut self, tools: &[Arc<dyn Tool>]) {
        let foreign = self.iter().filter(|it| it.origin.format != Format::Native);
        for definition in foreign.cloned().collect::<Vec<_>>() {
            let (access, problems) = definition.access_to(tools);
            if access != definition.access {
                self.replace(Definition { access, ..Definition::clone(&definition) }, &problems);
            }
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

    /// Returns which of the tools there are it has, by our names, and tells of what it lists
    /// besides. What it is not to have and nobody has needs no word.
    pub(super) fn access_to(&self, tools: &[Arc<dyn Tool>]) -> (Access, Vec<Problem>) {
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).collect();
        let mut access = self.access.clone();
        access.rename(|name| specs.iter().any(|spec| spec.name == name));
        // Of servers there may be any, or none while they are away.
        let is_there = |name: &str| {
            name.starts_with("mcp__") || specs.iter().any(|spec| names(name, &spec.name))
        };
        let mut absent = Vec::new();
        if let Access::AllowList { tools } = &access {
            let known = || specs.iter().map(|spec| &*spec.name);
            let unknown = tools.iter().filter(|name| !is_there(name));
            absent.extend(unknown.map(|name| self.without_tool(name, known())));
        }
        if let Access::AllowList { tools } | Access::DenyList { tools } = &mut access {
            tools.retain(|name| is_there(name));
        }
        (access, absent)
    }

    fn without_tool<'a>(&self, name: &str, known: impl Iterator<Item = &'a str>) -> Problem {
        let severity = match self.origin.format {
            Format::Native => Severity::Error,
            Format::Claude | Format::OpenCode | Format::Codex => Severity::Dropped,
        };
        let fields = [format!("tools[{name}]"), "tools".to_owned(), "permission".to_owned()];
        let line = fields.iter().find_map(|field| self.line(field));
        let why = format!("there is no tool `{name}`");
        let problem = Problem::of(severity, &self.origin.file, why).at(line);
        match nearest(name, known) {
            Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
            None => problem,
        }
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
        doubts.extend(lead.into_iter().flat_map(|lead| self.hopeless(lead)));
        doubts
    }

    /// Tells of the agents that a lead may call, and that could not be started.
    fn hopeless(&self, lead: &Lead) -> Vec<String> {
        let others = self.reachable(Some(lead)).into_iter();
        let others = others.filter(|it| it.name != lead.definition.name);
        let wrong = others.filter_map(|it| Some((&it.name, self.check_child(it).err()?)));
        wrong.map(|(name, why)| format!("`{name}` cannot be called: {why}")).collect()
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
