//! What people wrote, layer upon layer.

use std::{
    fs, io,
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
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) key: &'static Key,
    pub(super) value: Value,
    pub(super) source: Source,
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
        for Flag { flag, key, value } in flags {
            let source = Source::Flag { flag };
            let key = Key::find(key).map_err(|meant| unknown(&source, key, meant))?;
            written.0.push(Assignment { key, value: key.read(value), source });
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

    fn add_table(
        &mut self,
        section: &str,
        table: &DeTable<'_>,
        source: &dyn Fn(usize) -> Source,
    ) -> Result<(), CliError> {
        for (name, value) in table {
            let source_here = source(name.span().start);
            let name = format!("{section}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if !inner.is_empty() || is_section(&name) => {
                    self.add_table(&format!("{name}."), inner, source)?;
                }
                _ => {
                    let key = Key::find(&name).map_err(|m| unknown(&source_here, &name, m))?;
                    let value = Value::deserialize(ValueDeserializer::from(value.clone()));
                    let value = value.map_err(|error| {
                        let why = error.message();
                        CliError::new(Kind::Config, format!("{source_here}: `{name}`: {why}"))
                    })?;
                    self.0.push(Assignment { key, value, source: source_here });
                }
            }
        }
        Ok(())
    }

    fn add_variable(&mut self, name: &str, value: &str) -> Result<(), CliError> {
        if name == FAILPOINT {
            return Ok(());
        }
        let Some(key) = KEYS.iter().find(|key| key.variable() == name) else {
            let variables: Vec<_> = KEYS.iter().map(Key::variable).collect();
            let meant = nearest(name, variables.iter().map(String::as_str)).unwrap_or_default();
            let error = CliError::new(Kind::Config, format!("environment {name}: sets nothing"));
            return Err(error.hint(format!("did you mean `{meant}`?")));
        };
        let source = Source::Environment { name: name.to_owned() };
        self.0.push(Assignment { key, value: key.read(value), source });
        Ok(())
    }

    /// Returns what holds for a key, and where it came from: one place, or every place
    /// that added to a list.
    pub(super) fn effective(&self, key: &Key) -> Option<(Value, Vec<&Source>)> {
        let mut ours = self.0.iter().filter(|assignment| assignment.key.name == key.name);
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

fn unknown(source: &Source, key: &str, meant: &str) -> CliError {
    CliError::new(Kind::Config, format!("{source}: there is no key `{key}`"))
        .hint(format!("did you mean `{meant}`?"))
}

fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.rsplit_once('.').is_some_and(|(section, _)| section == name))
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
