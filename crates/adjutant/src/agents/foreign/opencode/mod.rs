//! opencode's format: Markdown, the fields before the text that the agent is told.

mod permission;
mod prompt;

use adjutant_core::{Allowance, Manner};

use super::shared::{self, description, discard, number, text};
use crate::agents::{
    definition::{Audience, Definition},
    fields::Fields,
    format::Format,
    front_matter,
    problem::Problem,
    text::Written,
};

/// Fields without a meaning here, and what there is instead.
const MEANINGLESS: [(&str, &str); 4] = [
    ("hidden", "`mode: primary` keeps it from other agents"),
    ("color", "agents are told apart by their names"),
    ("variant", "name the whole model in `model`"),
    ("options", "`temperature` and `top_p` are honoured"),
];

/// What restricts an agent, as people write it and as it is called.
const RESTRICTING: [(&str, &str); 5] = [
    ("permission", "permission"),
    ("tools", "tools"),
    ("disable", "disable"),
    ("steps", "steps"),
    ("maxSteps", "maxSteps"),
];

/// Who may run an agent, by what it is called there.
const AUDIENCES: [(&str, Audience); 3] =
    [("primary", Audience::People), ("subagent", Audience::Everyone), ("all", Audience::Everyone)];

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    let (mut fields, body) = match front_matter::allow(&written.file, &written.text) {
        Ok(read) => read,
        Err(problem) => return (None, vec![problem]),
    };
    let mut definition = Definition {
        name: shared::name(&mut fields, &written.name),
        description: description(&mut fields),
        prompt: prompt::read(&mut fields, written, body),
        model: text(&mut fields, "model").filter(|model| !model.trim().is_empty()),
        manner: Manner {
            temperature: number(&mut fields, "temperature"),
            top_p: number(&mut fields, "top_p"),
            ..Manner::default()
        },
        allowance: allowance(&mut fields),
        audience: audience(&mut fields),
        ..Definition::default()
    };
    permission::read(&mut fields, &mut definition);
    for (name, instead) in MEANINGLESS {
        discard(&mut fields, name, instead);
    }
    shared::refuse_like(&mut fields, &RESTRICTING);
    shared::finish(definition, fields, (written, Format::OpenCode))
}

/// Takes how many turns there may be, by its new name or its old one.
fn allowance(fields: &mut Fields<'_>) -> Allowance {
    let turns = [fields.count("steps"), fields.count("maxSteps")].into_iter().flatten().min();
    Allowance { turns, ..Allowance::default() }
}

/// Takes who may run it.
fn audience(fields: &mut Fields<'_>) -> Audience {
    let audience = fields.choice("mode", &AUDIENCES).unwrap_or_default();
    // What would disable an agent is a restriction, so that no other value will do.
    if fields.flag("disable") == Some(true) {
        fields.warn("disable", "is `true`: nobody can run it", None);
        return Audience::Nobody;
    }
    audience
}

#[cfg(test)]
mod tests;
