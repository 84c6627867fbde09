//! `adjutant agents list`: which agents there are, and which files are none.

use std::io::{self, Write};

use adjutant_surfaces::sanitize::{one_line, visible};
use serde_json::{Value, json};

use super::{Desk, owner, problem};
use crate::agents::{library::Entry, problem::Severity};

/// The longest description in a line.
const LONGEST_DESCRIPTION: usize = 60;

const HOW_TO_BEGIN: &str = "\
there are no agents here yet
`adjutant agents new NAME` writes one to .adjutant/agents/NAME.toml, with `--user` for all projects
files that are in .claude/agents, .opencode/agent, .codex/agents or .agents/agents are read too
";

/// Writes all of it as JSON.
pub(super) fn write_json(desk: &Desk<'_>, to: &mut dyn Write) -> io::Result<()> {
    let entries = desk.agents.library.entries.iter();
    super::write_json(&entries.map(json).collect(), to)
}

fn json(entry: &Entry) -> Value {
    let definition = entry.definition.as_ref();
    json!({
        "name": entry.name(),
        "description": definition.map(|it| &it.description),
        "model": definition.and_then(|it| it.model.as_ref()),
        "file": entry.file.display().to_string(),
        "format": entry.format.name(),
        "owner": owner(&entry.owner),
        "state": state(entry),
        "shadowed_by": entry.shadowed_by.as_ref().map(|it| it.display().to_string()),
        "problems": entry.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn state(entry: &Entry) -> &'static str {
    match (&entry.definition, &entry.shadowed_by) {
        (None, _) => "refused",
        (Some(_), Some(_)) => "shadowed",
        (Some(_), None) => "loaded",
    }
}

/// Writes a table for people, one line a file.
pub(super) fn write_text(desk: &Desk<'_>, to: &mut dyn Write) -> io::Result<()> {
    let mut entries: Vec<_> = desk.agents.library.entries.iter().collect();
    if entries.is_empty() {
        return write!(to, "{HOW_TO_BEGIN}");
    }
    entries.sort_by_key(|entry| (entry.name(), entry.shadowed_by.is_some()));
    let title = ["name", "description", "where", "model", ""].map(str::to_owned);
    let rows: Vec<_> =
        [title].into_iter().chain(entries.into_iter().map(|entry| row(desk, entry))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..4).map(|column| width(column).unwrap_or_default()).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.chain([row[4].clone()]).collect::<Vec<_>>().join("  ");
        writeln!(to, "{}", line.trim_end())?;
    }
    Ok(())
}

fn row(desk: &Desk<'_>, entry: &Entry) -> [String; 5] {
    let definition = entry.definition.as_ref();
    let mut description = definition.map(|it| one_line(&it.description)).unwrap_or_default();
    if description.chars().count() > LONGEST_DESCRIPTION {
        description = description.chars().take(LONGEST_DESCRIPTION - 1).chain(['…']).collect();
    }
    let model = definition.and_then(|it| it.model.clone());
    let model = model.map_or_else(|| "-".to_owned(), |model| visible(&model));
    [visible(&entry.name()), description, desk.short(&entry.file), model, note(desk, entry)]
}

/// Returns what is not as it should be.
fn note(desk: &Desk<'_>, entry: &Entry) -> String {
    let mut notes = Vec::new();
    if let Some(stronger) = &entry.shadowed_by {
        notes.push(format!("shadowed by {}", desk.short(stronger)));
    }
    if entry.definition.is_none() {
        let mut errors = entry.problems.iter().filter(|it| it.severity == Severity::Error);
        let why = errors.next().map(|error| {
            let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{line}{}", one_line(&error.message))
        });
        notes.push(format!("refused: {}", why.unwrap_or_default()));
    }
    for (severity, word) in [(Severity::Dropped, "dropped"), (Severity::Warning, "warned of")] {
        let count = entry.count(severity);
        if count > 0 {
            notes.push(format!("{count} {word}"));
        }
    }
    notes.join("; ")
}
