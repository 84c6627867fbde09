//! Claude Code's format: Markdown, the fields before the text that the agent is told.

mod tools;

use std::num::NonZeroU64;

use adjutant_core::{Allowance, Isolation, Manner, Mode};
use serde_json::Value;

use super::shared::{self, description, discard, flag, newest, text};
use crate::agents::{
    definition::{Definition, Guidance, Input, Memory},
    fields::Fields,
    format::Format,
    front_matter,
    native::{LAST_RECORDS, MOST_RECORDS},
    problem::Problem,
    text::Written,
};

/// The families of models that have a short name there.
const FAMILIES: [&str; 4] = ["sonnet", "opus", "haiku", "fable"];

/// Fields without a meaning here, and what there is instead.
const MEANINGLESS: [(&str, &str); 4] = [
    ("hooks", "`hooks` in the configuration are run for every agent"),
    ("color", "agents are told apart by their names"),
    ("initialPrompt", "what it is to do first is the task it is given"),
    ("experimental", "leave it out"),
];

/// What restricts an agent, as people write it and as it is called.
const RESTRICTING: [(&str, &str); 8] = [
    ("tools", "tools"),
    ("allowedTools", "tools"),
    ("disallowedTools", "disallowedTools"),
    ("permissionMode", "permissionMode"),
    ("permission", "permissionMode"),
    ("mode", "permissionMode"),
    ("mcpServers", "mcpServers"),
    ("maxTurns", "maxTurns"),
];

/// How freely an agent acts there, and what is not freer here; `None` is as freely as whoever
/// runs it.
const MODES: [(&str, Option<Mode>, Option<&str>); 7] = [
    ("plan", Some(Mode::Plan), None),
    ("default", Some(Mode::Ask), None),
    ("manual", Some(Mode::Ask), None),
    ("acceptEdits", Some(Mode::Ask), Some("a person is asked about edits too")),
    ("dontAsk", Some(Mode::Ask), Some("where a person is there, they are asked")),
    ("auto", Some(Mode::Auto), None),
    ("bypassPermissions", None, Some("it acts no more freely than whoever runs it")),
];

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    let (mut fields, body) = match front_matter::expect(&written.file, &written.text) {
        Ok(read) => read,
        Err(problem) => return (None, vec![problem]),
    };
    let mut definition = definition(&mut fields, written, body);
    tools::read(&mut fields, &mut definition, &written.owner);
    background(&mut fields);
    for (name, instead) in MEANINGLESS {
        discard(&mut fields, name, instead);
    }
    shared::refuse_like(&mut fields, &RESTRICTING);
    shared::finish(definition, fields, (written, Format::Claude))
}

fn definition(fields: &mut Fields<'_>, written: &Written, body: &str) -> Definition {
    if body.trim().is_empty() {
        fields.warn("prompt", "is missing: there is no text after the fields", None);
    }
    let file = written.file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    Definition {
        name: shared::name(fields, &file),
        description: description(fields),
        prompt: body.trim().to_owned(),
        model: model(fields),
        mode: mode(fields),
        allowance: Allowance { turns: fields.count("maxTurns"), ..Allowance::default() },
        skills: skills(fields),
        manner: Manner { effort: shared::effort(fields, "effort"), ..Manner::default() },
        memory: memory(fields),
        guidance: match flag(fields, "omitClaudeMd") {
            Some(true) => Guidance::Omitted,
            Some(false) | None => Guidance::Told,
        },
        isolation: fields
            .choice("isolation", &[("worktree", Isolation::Worktree)])
            .unwrap_or_default(),
        ..Definition::default()
    }
}

/// Takes the model: a family, of which the newest is meant, a name at its maker, or a full name.
fn model(fields: &mut Fields<'_>) -> Option<String> {
    let written = text(fields, "model")?;
    let name = written.trim().trim_end_matches("[1m]");
    if name != written.trim() {
        fields.drop("model", "ends in `[1m]`, and a model has the window it has", None);
    }
    match name {
        "" | "inherit" => None,
        family if FAMILIES.contains(&family) => newest("anthropic", &format!("claude-{family}")),
        name if name.starts_with("claude-") => Some(format!("anthropic/{name}")),
        name => Some(name.to_owned()),
    }
}

/// Takes how freely it acts at most.
fn mode(fields: &mut Fields<'_>) -> Option<Mode> {
    let modes = MODES.map(|(name, mode, notice)| (name, (name, mode, notice)));
    let (name, mode, notice) = fields.choice("permissionMode", &modes)?;
    if let Some(notice) = notice {
        fields.drop("permissionMode", format!("is `{name}`: {notice}"), None);
    }
    mode
}

/// Takes the skills: a list, or one text with commas.
fn skills(fields: &mut Fields<'_>) -> Vec<String> {
    let named = match fields.take("skills") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::String(list)) => Some(list.split(',').map(|it| it.trim().to_owned()).collect()),
        Some(value) => serde_json::from_value::<Vec<String>>(value).ok(),
    };
    let Some(named) = named else {
        fields.drop("skills", "has to be a list of names", None);
        return Vec::new();
    };
    named.into_iter().filter(|name| !name.trim().is_empty()).collect()
}

/// Takes what it remembers. It is told its last runs, which is what remembering is here.
fn memory(fields: &mut Fields<'_>) -> Option<Memory> {
    let whose = text(fields, "memory")?;
    if !["user", "project", "local"].contains(&&*whose) {
        let why = format!("is `{whose}`; there are: `user`, `project`, `local`");
        fields.drop("memory", why, None);
        return None;
    }
    let why = format!("is `{whose}`: it is told its last runs, and no `MEMORY.md` is read");
    fields.warn("memory", why, Some("`adjutant memory show` tells what is remembered"));
    let last = NonZeroU64::new(LAST_RECORDS);
    Some(Memory { path: None, last, most: MOST_RECORDS, input: Input::Measured })
}

fn background(fields: &mut Fields<'_>) {
    if flag(fields, "background") == Some(true) {
        let why = "cannot be: whoever calls it waits, or does not";
        fields.drop("background", why, Some("`agent_spawn` starts agents without waiting"));
    }
}

#[cfg(test)]
mod tests;
