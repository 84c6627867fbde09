//! What people wrote, layer upon layer.

use std::{
    collections::BTreeSet,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml::{
    Value,
    de::{DeTable, DeValue, ValueDeserializer},
};

use super::{
    Source,
    key::{Form, Key, Project},
    preset::Preset,
};
use crate::{
    CliError, Surroundings,
    agreement::{Agreed, Agreements},
    error::Kind,
    nearest::nearest,
};

const DEFAULTS: &str = include_str!("defaults.toml");

/// The preset that holds where none is named.
const USUAL_PRESET: &str = "adjutant";

/// Belongs to the store, which dies there on purpose in its tests.
const FAILPOINT: &str = "ADJUTANT_FAILPOINT";

/// What hooks are told: one of them may run us again.
const HOOK_VARIABLES: [&str; 3] = ["ADJUTANT_HOOK_EVENT", "ADJUTANT_AGENT", "ADJUTANT_TOOL"];

/// Everything that was written about the configuration, the weakest layer first.
#[derive(Debug, Default)]
pub struct Written {
    pub(super) assignments: Vec<Assignment>,
    /// What the project's file adds and the person did not agree to. It does not hold.
    pub(super) untrusted: Vec<(String, Source)>,
}

/// One value for one key.
pub(super) struct Assignment {
    pub(super) key: &'static Key,
    /// What stands for the `*` in the key's name.
    pub(super) subject: Option<String>,
    pub(super) value: Value,
    pub(super) source: Source,
}

impl Assignment {
    pub(super) fn name(&self) -> String {
        self.key.name_of(self.subject.as_deref())
    }
}

impl fmt::Debug for Assignment {
    /// Says what was set and where, and not to what: that may be nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.source)
    }
}

/// A setting given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The flag it was given with.
    pub flag: &'static str,
    /// What is set.
    pub key: String,
    /// To what.
    pub value: String,
}

impl Written {
    /// Reads all layers as they apply in a directory.
    pub fn read(around: &Surroundings, directory: &Path, flags: &[Flag]) -> Result<Self, CliError> {
        let mut written = Self::found(around, directory)?;
        for Flag { flag, key, value } in flags {
            written.add(key, value, Source::Flag { flag })?;
        }
        written.with_preset()
    }

    /// Takes what another program gives, upon what is found in a directory, if it is to be looked
    /// for.
    pub(crate) fn given(
        around: &Surroundings,
        directory: Option<&Path>,
        settings: &[(String, Value)],
    ) -> Result<Self, CliError> {
        let mut written = match directory {
            Some(directory) => Self::found(around, directory)?,
            None => Self::defaults(around)?,
        };
        for (name, value) in settings {
            let source = Source::Builder;
            let (key, subject) = Key::find(name).ok_or_else(|| unknown(&source, name))?;
            let value = value.clone();
            written.assignments.push(Assignment { key, subject, value, source });
        }
        written.with_preset()
    }

    /// Reads what is written in files and in the environment.
    fn found(around: &Surroundings, directory: &Path) -> Result<Self, CliError> {
        let mut written = Self::defaults(around)?;
        let user = around.user_file();
        if let Some(text) = read_if_there(&user)? {
            let file = user.display().to_string();
            written.add_file(&text, &|line| Source::User { file: file.clone(), line })?;
        }
        if let Some((project, text)) = find_project(directory)? {
            let file = project.display().to_string();
            written.add_file(&text, &|line| Source::Project { file: file.clone(), line })?;
            written.distrust(&Agreements::of(around).agreed(project_of(&project))?);
        }
        for (name, value) in &around.variables {
            written.add_variable(name, value)?;
        }
        for (provider, variable, value) in around.providers.base_urls() {
            let source = Source::Environment { name: variable.to_owned() };
            written.add(&format!("providers.{provider}.base_url"), value, source)?;
        }
        Ok(written)
    }

    /// Puts what the preset sets upon the defaults.
    fn with_preset(mut self) -> Result<Self, CliError> {
        let preset = self.preset()?.written()?;
        let is_default = |it: &&Assignment| it.source == Source::Default;
        let defaults = self.assignments.iter().take_while(is_default).count();
        self.assignments.splice(defaults..defaults, preset.assignments);
        Ok(self)
    }

    /// Returns the preset that was chosen last. What is no name is refused with the other values.
    fn preset(&self) -> Result<&'static Preset, CliError> {
        let chosen = self.assignments.iter().rfind(|it| it.key.name == "preset");
        match chosen.and_then(|chosen| Some((chosen.value.as_str()?, &chosen.source))) {
            Some((name, source)) => Preset::find(name, &format!("{source}: ")),
            None => Preset::find(USUAL_PRESET, ""),
        }
    }

    /// Takes out what a project's file adds and nobody agreed to.
    fn distrust(&mut self, agreed: &Agreed) {
        let Self { assignments, untrusted } = self;
        let is_doubtful = |it: &&mut Assignment| {
            it.key.project == Project::Trusted && matches!(it.source, Source::Project { .. })
        };
        for assignment in assignments.iter_mut().filter(is_doubtful) {
            let Assignment { value: Value::Array(rules), source, .. } = assignment else {
                continue;
            };
            // What is no text is refused later, like any other mistake.
            let is_held = |rule: &Value| rule.as_str().is_none_or(|rule| agreed.allows(rule));
            let (held, others): (Vec<_>, _) = std::mem::take(rules).into_iter().partition(is_held);
            *rules = held;
            let others = others.iter().filter_map(Value::as_str);
            untrusted.extend(others.map(|rule| (rule.to_owned(), source.clone())));
        }
    }

    fn defaults(around: &Surroundings) -> Result<Self, CliError> {
        let path = around.journal_file();
        let path = path.to_str().ok_or_else(|| {
            CliError::new(Kind::Config, format!("`{}` is not valid UTF-8", path.display()))
        })?;
        let defaults = format!("journal_path = {}\n{DEFAULTS}", Value::from(path));
        let mut written = Self::default();
        written.add_file(&defaults, &|_| Source::Default)?;
        Ok(written)
    }

    pub(super) fn add_file(
        &mut self,
        text: &str,
        at: &dyn Fn(usize) -> Source,
    ) -> Result<(), CliError> {
        let source = |offset: usize| at(line(text, offset));
        let table = DeTable::parse(text).map_err(|error| {
            let source = source(error.span().unwrap_or_default().start);
            CliError::new(Kind::Config, format!("{source}: is not TOML: {}", error.message()))
        })?;
        self.add_table("", table.get_ref(), &source)
    }

    /// Adds a value given outside a file.
    fn add(&mut self, name: &str, value: &str, source: Source) -> Result<(), CliError> {
        let (key, subject) = Key::find(name).ok_or_else(|| unknown(&source, name))?;
        self.assignments.push(Assignment { key, subject, value: key.read(value), source });
        Ok(())
    }

    fn add_table(
        &mut self,
        section: &str,
        table: &DeTable<'_>,
        source: &dyn Fn(usize) -> Source,
    ) -> Result<(), CliError> {
        for (name, value) in table {
            let source_here = source(name.span().start);
            let name = format!("{section}{}", name.get_ref());
            let found = Key::find(&name);
            match value.get_ref() {
                DeValue::Table(inner)
                    if found.is_none() && (!inner.is_empty() || Key::is_section(&name)) =>
                {
                    self.add_table(&format!("{name}."), inner, source)?;
                }
                _ => {
                    let (key, subject) = found.ok_or_else(|| unknown(&source_here, &name))?;
                    let value = Value::deserialize(ValueDeserializer::from(value.clone()));
                    let value = value.map_err(|error| {
                        let why = error.message();
                        CliError::new(Kind::Config, format!("{source_here}: `{name}`: {why}"))
                    })?;
                    self.assignments.push(Assignment { key, subject, value, source: source_here });
                }
            }
        }
        Ok(())
    }

    fn add_variable(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        if name == FAILPOINT || HOOK_VARIABLES.contains(&name) {
            return Ok(());
        }
        let Some(key) = Key::all().find(|key| key.variable().as_deref() == Some(name)) else {
            let error = CliError::new(Kind::Config, format!("environment {name}: sets nothing"));
            if name.starts_with("ADJUTANT_PROVIDERS_") {
                return Err(error.hint("`-c providers.NAME.KEY=VALUE` does, and a file does"));
            }
            if name.starts_with("ADJUTANT_HOOKS_") {
                return Err(error.hint("`-c hooks.NAME.KEY=VALUE` does, and a file does"));
            }
            if name.starts_with("ADJUTANT_MCP_") {
                return Err(error.hint("`-c mcp.NAME.KEY=VALUE` does, and a file does"));
            }
            let variables: Vec<_> = Key::all().filter_map(Key::variable).collect();
            let meant = nearest(name, variables.iter().map(String::as_str)).unwrap_or_default();
            return Err(error.hint(format!("did you mean `{meant}`?")));
        };
        let source = Source::Environment { name: name.to_owned() };
        self.assignments.push(Assignment { key, subject: None, value: key.read(value), source });
        Ok(())
    }

    /// Reports whether a key was set for this run alone: on the command line, in the environment or
    /// by a program.
    pub(crate) fn is_commanded(&self, name: &str) -> bool {
        let last = self.assignments.iter().rfind(|assignment| assignment.name() == name);
        last.is_some_and(|last| {
            use Source::{Builder, Environment, Flag};
            matches!(last.source, Environment { .. } | Flag { .. } | Builder)
        })
    }

    /// Reports whether the value of a key is one from the command line.
    pub(crate) fn is_flagged(&self, name: &str) -> bool {
        let last = self.assignments.iter().rfind(|assignment| assignment.name() == name);
        last.is_some_and(|last| matches!(last.source, Source::Flag { .. }))
    }

    /// Returns every rule that holds: its list, the rule and where it is written.
    pub(crate) fn rules(&self) -> Vec<(&'static str, String, String)> {
        let lists = self.assignments.iter().filter_map(|assignment| {
            let list = assignment.key.name.strip_prefix("permissions.")?;
            Some((list, assignment.value.as_array()?, assignment.source.to_string()))
        });
        let rules = lists.flat_map(|(list, rules, source)| {
            let rules = rules.iter().filter_map(toml::Value::as_str);
            rules.map(move |rule| (list, rule.to_owned(), source.clone()))
        });
        rules.collect()
    }

    /// Returns every name that can be shown, with its key, in the order of the keys. A key
    /// with a `*` in its name has those that were set, or one that was not.
    pub(super) fn names(&self) -> Vec<(String, &'static Key)> {
        let names = Key::all().flat_map(|key| {
            let ours = self.assignments.iter().filter(|assignment| assignment.key.name == key.name);
            let set: BTreeSet<_> = ours.map(Assignment::name).collect();
            let unset = set.is_empty().then(|| key.name_of(None));
            set.into_iter().chain(unset).map(move |name| (name, key))
        });
        names.collect()
    }

    /// Returns what holds for a key by its name, and where it came from: one place, or every
    /// place that added to a list.
    pub(super) fn effective(&self, name: &str, key: &Key) -> Option<(Value, Vec<&Source>)> {
        let mut ours = self.assignments.iter().filter(|assignment| assignment.name() == name);
        if key.form != Form::List {
            return ours.next_back().map(|last| (last.value.clone(), vec![&last.source]));
        }
        let mut ours: Vec<_> = ours.collect();
        if ours.is_empty() {
            return None;
        }
        // An empty list adds nothing, so it is only named when there is nothing else.
        if ours.iter().any(|assignment| !is_empty(&assignment.value)) {
            ours.retain(|assignment| !is_empty(&assignment.value));
        }
        let items = ours.iter().filter_map(|assignment| assignment.value.as_array()).flatten();
        let value = Value::Array(items.cloned().collect());
        Some((value, ours.into_iter().map(|assignment| &assignment.source).collect()))
    }
}

/// Finds the project's file: the nearest, from a directory upwards.
pub(crate) fn find_project(directory: &Path) -> Result<Option<(PathBuf, String)>, CliError> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(".adjutant/config.toml");
        if let Some(text) = read_if_there(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

/// Returns the project a configuration file belongs to.
pub(crate) fn project_of(file: &Path) -> &Path {
    file.parent().and_then(Path::parent).unwrap_or(file)
}

fn read_if_there(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => {
                let path = path.display();
                Err(CliError::new(Kind::Config, format!("{path}: cannot be read: {error}")))
            }
        },
    }
}

fn unknown(source: &Source, key: &str) -> CliError {
    if let Some(name) = Key::bad_subject(key) {
        let what = match key.split('.').next() {
            Some("hooks") => "hook",
            Some("mcp") => "server",
            Some(_) | None => "provider",
        };
        let wrong = format!("{source}: `{key}`: `{name}` cannot be the name of a {what}");
        let hint = "its name has small letters, digits, `-` and `_`, and nothing else";
        return CliError::new(Kind::Config, wrong).hint(hint);
    }
    CliError::new(Kind::Config, format!("{source}: there is no key `{key}`"))
        .hint(format!("did you mean `{}`?", Key::meant(key)))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
