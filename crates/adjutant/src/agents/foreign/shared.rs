//! What the formats of other products have in common.

use std::collections::BTreeSet;

use adjutant_core::Effort;
use adjutant_models::Figures;
use serde_json::{Number, Value};

use crate::{
    agents::{
        definition::{Definition, Origin},
        fields::{Fields, is_like},
        format::Format,
        name,
        problem::{Problem, Severity},
        text::Written,
    },
    nearest::close,
};

/// What is a part of names that people give to restrictions.
const RESTRICTIONS: [&str; 11] = [
    "tool", "permi", "deny", "deni", "allow", "sandbox", "proval", "approve", "restrict", "disab",
    "exclude",
];

/// Returns what an agent is called here. Other products put into names what no name can have
/// that is typed and becomes a part of paths.
pub(super) fn called(name: &str) -> String {
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '/' | '\\' | ':');
    name.trim().split(is_odd).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Takes the name, or makes one of that of the file.
pub(super) fn name(fields: &mut Fields<'_>, usual: &str) -> String {
    let written = fields.text("name");
    let written = written.as_deref().unwrap_or(usual);
    let name = called(written);
    if let Err(why) = name::check(&name) {
        fields.refuse("name", why, "give it a `name` of letters, digits and `-`");
    } else if name != written {
        let why = format!("is `{}`, which is called `{name}` here", written.escape_debug());
        fields.warn("name", why, None);
    }
    name
}

/// Takes the description, and says if there is none.
pub(super) fn description(fields: &mut Fields<'_>) -> String {
    let description = text(fields, "description").unwrap_or_default();
    if description.trim().is_empty() {
        let why = "is missing, so no other agent is told when to call it";
        fields.warn("description", why, Some("add `description: …`"));
    }
    description
}

/// Takes text. What is none is dropped.
pub(super) fn text(fields: &mut Fields<'_>, name: &'static str) -> Option<String> {
    take(fields, name, "text", |value| value.as_str().map(str::to_owned))
}

/// Takes yes or no. What is neither is dropped.
pub(super) fn flag(fields: &mut Fields<'_>, name: &'static str) -> Option<bool> {
    take(fields, name, "`true` or `false`", Value::as_bool)
}

/// Takes a number. What is none is dropped.
pub(super) fn number(fields: &mut Fields<'_>, name: &'static str) -> Option<Number> {
    take(fields, name, "a number from 0 to 2", |value| {
        let number = value.as_number()?;
        number.as_f64().filter(|it| (0.0..=2.0).contains(it)).map(|_| number.clone())
    })
}

fn take<T>(
    fields: &mut Fields<'_>,
    name: &'static str,
    what: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<T> {
    let value = fields.take(name).filter(|value| !value.is_null())?;
    let read = read(&value);
    if read.is_none() {
        fields.drop(name, format!("has to be {what}"), None);
    }
    read
}

/// Takes how much the model is to think. There are fewer words for it here.
pub(super) fn effort(fields: &mut Fields<'_>, name: &'static str) -> Option<Effort> {
    let written = text(fields, name)?;
    let known = Effort::ALL.into_iter().find(|(known, _)| *known == written);
    let effort = known.map(|(_, effort)| effort).or(match &*written {
        "none" | "minimal" => Some(Effort::Low),
        "xhigh" | "max" => Some(Effort::High),
        _ => None,
    });
    match effort {
        Some(effort) if known.is_none() => {
            fields.drop(name, format!("is `{written}`, which comes to `{}`", effort.name()), None);
        }
        Some(_) => {}
        None => {
            let why = format!("is `{written}`; there are: `low`, `medium`, `high`");
            fields.drop(name, why, None);
        }
    }
    effort
}

/// Drops a field that has no meaning here, and says what there is instead.
pub(super) fn discard(fields: &mut Fields<'_>, name: &'static str, instead: &str) {
    if fields.take(name).is_some() {
        fields.drop(name, "has no meaning here", Some(instead));
    }
}

/// Returns the newest of a provider's models of a family, by its full name.
pub(super) fn newest(provider: &str, family: &str) -> Option<String> {
    Figures::newest(provider, family).map(|model| format!("{provider}/{model}"))
}

/// Refuses fields that may be meant to restrict the agent and are called otherwise. What restricts
/// it comes in pairs of what people write and what it is called.
pub(super) fn refuse_like(fields: &mut Fields<'_>, restricting: &[(&str, &str)]) {
    while let Some((written, hint)) = fields.take_meant(|name| correction(name, restricting)) {
        let why = "is not known, and without it the agent may be freer than written";
        fields.refuse(&written, why, &hint);
    }
}

/// Returns what to write instead of a field that may be meant to restrict the agent.
fn correction(written: &str, restricting: &[(&str, &str)]) -> Option<String> {
    let like = restricting.iter().find(|(name, _)| is_like(name, written));
    let names = restricting.iter().map(|(_, right)| *right);
    if let Some(right) = like.map(|(_, right)| *right).or_else(|| close(written, names.clone())) {
        return Some(format!("the field is called `{right}`"));
    }
    let plain = written.to_lowercase();
    let names: BTreeSet<_> = names.map(|name| format!("`{name}`")).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    RESTRICTIONS
        .iter()
        .any(|word| plain.contains(word))
        .then(|| format!("the fields that restrict an agent are: {names}"))
}

/// Returns what became of a file. What is left of its fields is unknown.
pub(super) fn finish(
    mut definition: Definition,
    fields: Fields<'_>,
    (written, format): (&Written, Format),
) -> (Option<Definition>, Vec<Problem>) {
    definition.origin = Origin::new(written, format, fields.lines());
    let problems = fields.end(Severity::Dropped);
    let is_refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    ((!is_refused).then_some(definition), problems)
}
