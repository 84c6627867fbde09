//! Shows the configuration and where it came from.

use std::{
    io::{self, Write},
    path::Path,
};

use serde_json::{Map, json};

use super::{
    key::KEYS,
    written::{Written, find_project},
};
use crate::{CliError, Surroundings};

/// Values longer than this do not push the others' sources to the right.
const WIDEST: usize = 24;

/// Writes every key and its value as TOML, with where it came from as a comment.
pub fn show_text(written: &Written, to: &mut dyn Write) -> io::Result<()> {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or_default();
    for key in &KEYS {
        let name = key.name;
        match written.effective(key) {
            // What JSON writes on one line, TOML reads.
            Some((value, sources)) => {
                let value = serde_json::to_string(&value)?;
                let sources: Vec<_> = sources.iter().map(ToString::to_string).collect();
                writeln!(to, "{name:width$} = {value:WIDEST$} # {}", sources.join(", "))?;
            }
            None => writeln!(to, "{:width$}   {:WIDEST$} # not set", format!("#{name}"), "")?,
        }
    }
    Ok(())
}

/// Writes every key, its value and where it came from as one JSON object.
pub fn show_json(written: &Written, to: &mut dyn Write) -> io::Result<()> {
    let shown: Map<_, _> = KEYS
        .iter()
        .map(|key| {
            let (value, sources) = written.effective(key).unzip();
            (key.name.to_owned(), json!({ "value": value, "from": sources.unwrap_or_default() }))
        })
        .collect();
    serde_json::to_writer_pretty(&mut *to, &shown)?;
    writeln!(to)
}

/// Writes where the configuration is looked for.
pub fn show_places(
    around: &Surroundings,
    directory: &Path,
    to: &mut dyn Write,
) -> Result<(), CliError> {
    let user = around.user_file();
    let there = if user.exists() { "" } else { " (not there)" };
    writeln!(to, "user     {}{there}", user.display())?;
    match find_project(directory)? {
        Some((path, _)) => writeln!(to, "project  {}", path.display())?,
        None => {
            let path = directory.join(".adjutant/config.toml");
            writeln!(to, "project  {} (not there, nor in a directory above)", path.display())?;
        }
    }
    Ok(())
}
