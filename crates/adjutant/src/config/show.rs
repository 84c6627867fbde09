//! Shows the configuration and where it came from.

use std::{
    io::{self, Write},
    path::Path,
};

use serde_json::{Map, json};
use toml::Value;

use super::{
    key::{Form, Key},
    written::{Written, find_project},
};
use crate::{CliError, Surroundings};

/// Values longer than this do not push the others' sources to the right.
const WIDEST: usize = 24;

/// Writes every key and its value as TOML, with where it came from as a comment.
pub fn show_text(written: &Written, to: &mut dyn Write) -> io::Result<()> {
    let names = written.names();
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, key) in names {
        match written.effective(&name, key) {
            Some((value, sources)) => {
                // What is hidden cannot be read back.
                let mark = if key.form == Form::Hidden { "#" } else { "" };
                // What JSON writes on one line, TOML reads.
                let value = serde_json::to_string(&shown(key, value))?;
                let sources: Vec<_> = sources.iter().map(ToString::to_string).collect();
                let name = format!("{mark}{name}");
                writeln!(to, "{name:width$} = {value:WIDEST$} # {}", sources.join(", "))?;
            }
            None => writeln!(to, "{:width$}   {:WIDEST$} # not set", format!("#{name}"), "")?,
        }
    }
    Ok(())
}

/// Returns what holds for the keys of some sections, with their names.
pub(crate) fn values(written: &Written, sections: &[&str]) -> Vec<(String, Value)> {
    let mut names = written.names();
    names.retain(|(name, _)| sections.iter().any(|section| name.starts_with(section)));
    let values = names.into_iter().filter_map(|(name, key)| {
        let (value, _) = written.effective(&name, key)?;
        Some((name, value))
    });
    values.collect()
}

/// Writes every key, its value and where it came from as one JSON object.
pub fn show_json(written: &Written, to: &mut dyn Write) -> io::Result<()> {
    let shown: Map<_, _> = written
        .names()
        .into_iter()
        .map(|(name, key)| {
            let (value, sources) = written.effective(&name, key).unzip();
            let value = value.map(|value| shown(key, value));
            (name, json!({ "value": value, "from": sources.unwrap_or_default() }))
        })
        .collect();
    serde_json::to_writer_pretty(&mut *to, &shown)?;
    writeln!(to)
}

/// Returns of a value what may be seen.
fn shown(key: &Key, value: Value) -> Value {
    match value {
        Value::Table(table) if key.form == Form::Hidden => {
            Value::Table(table.into_iter().map(|(name, _)| (name, "[hidden]".into())).collect())
        }
        value => value,
    }
}

/// Writes where the configuration is looked for.
pub fn show_places(
    around: &Surroundings,
    directory: &Path,
    to: &mut dyn Write,
) -> Result<(), CliError> {
    for (name, path) in [("user", around.user_file()), ("models", around.figures_file())] {
        let there = if path.exists() { "" } else { " (not there)" };
        writeln!(to, "{name:7}  {}{there}", path.display())?;
    }
    match find_project(directory)? {
        Some((path, _)) => writeln!(to, "project  {}", path.display())?,
        None => {
            let path = directory.join(".adjutant/config.toml");
            writeln!(to, "project  {} (not there, nor in a directory above)", path.display())?;
        }
    }
    Ok(())
}
