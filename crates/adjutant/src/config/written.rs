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
    key::{Form, KEYS, Key},
};
use crate::{CliError, Surroundings, error::Kind, nearest::nearest};

const DEFAULTS: &str = include_str!("defaults.toml");

/// Belongs to the store, which dies there on purpose in its tests.
const FAILPOINT: &str = "ADJUTANT_FAILPOINT";

/// Everything that was written about the configuration, the weakest layer first.
#[derive(Debug, Default)]
pub struct Written(pub(super) Vec<Assignment>);

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
        let mut written = Self::default();
        written.add_defaults(around)?;
        let user = around.user_file();
        if let Some(text) = read_if_there(&user)? {
            let file = user.display().to_string();
            written.add_file(&text, &|line| Source::User { file: file.clone(), line })?;
        }
        if let Some((project, text)) = find_project(directory)? {
            let file = project.display().to_string();
            written.add_file(&text, &|line| Source::Project { file: file.clone(), line })?;
        }
        for (name, value) in &around.variables {
            written.add_variable(name, value)?;
        }
        for (provider, variable, value) in around.providers.base_urls() {
            let source = Source::Environment { name: variable.to_owned() };
            written.add(&format!("providers.{provider}.base_url"), value, source)?;
        }
        for Flag { flag, key, value } in flags {
            written.add(key, value, Source::Flag { flag })?;
        }
        Ok(written)
    }

    fn add_defaults(&mut self, around: &Surroundings) -> Result<(), CliError> {
        let path = around.journal_file();
        let path = path.to_str().ok_or_else(|| {
            CliError::new(Kind::Config, format!("`{}` is not valid UTF-8", path.display()))
        })?;
        let defaults = format!("journal_path = {}\n{DEFAULTS}", Value::from(path));
        self.add_file(&defaults, &|_| Source::Default)
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
        self.0.push(Assignment { key, subject, value: key.read(value), source });
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
                    self.0.push(Assignment { key, subject, value, source: source_here });
                }
            }
        }
        Ok(())
    }

    fn add_variable(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        if name == FAILPOINT {
            return Ok(());
        }
        let Some(key) = KEYS.iter().find(|key| key.variable().as_deref() == Some(name)) else {
            let error = CliError::new(Kind::Config, format!("environment {name}: sets nothing"));
            if name.starts_with("ADJUTANT_PROVIDERS_") {
                return Err(error.hint("`-c providers.NAME.KEY=VALUE` does, and a file does"));
            }
            let variables: Vec<_> = KEYS.iter().filter_map(Key::variable).collect();
            let meant = nearest(name, variables.iter().map(String::as_str)).unwrap_or_default();
            return Err(error.hint(format!("did you mean `{meant}`?")));
        };
        let source = Source::Environment { name: name.to_owned() };
        self.0.push(Assignment { key, subject: None, value: key.read(value), source });
        Ok(())
    }

    /// Returns every name that can be shown, with its key, in the order of the keys. A key
    /// with a `*` in its name has those that were set, or one that was not.
    pub(super) fn names(&self) -> Vec<(String, &'static Key)> {
        let names = KEYS.iter().flat_map(|key| {
            let ours = self.0.iter().filter(|assignment| assignment.key.name == key.name);
            let set: BTreeSet<_> = ours.map(Assignment::name).collect();
            let unset = set.is_empty().then(|| key.name_of(None));
            set.into_iter().chain(unset).map(move |name| (name, key))
        });
        names.collect()
    }

    /// Returns what holds for a key by its name, and where it came from: one place, or every
    /// place that added to a list.
    pub(super) fn effective(&self, name: &str, key: &Key) -> Option<(Value, Vec<&Source>)> {
        let mut ours = self.0.iter().filter(|assignment| assignment.name() == name);
        if key.form != Form::List {
            return ours.next_back().map(|last| (last.value.clone(), vec![&last.source]));
        }
        let mut ours: Vec<_> = ours.collect();
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
pub(super) fn find_project(directory: &Path) -> Result<Option<(PathBuf, String)>, CliError> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(".adjutant/config.toml");
        if let Some(text) = read_if_there(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
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
        let wrong = format!("{source}: `{key}`: `{name}` cannot be the name of a provider");
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
