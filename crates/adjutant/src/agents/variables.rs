//! What is put into an agent's prompt for `{{name}}`.

use std::collections::BTreeMap;

use super::definition::{Definition, Variable};

/// What values have been given, by name.
pub(crate) type Values = BTreeMap<String, String>;

/// Returns the agent with its variables filled in, or tells which of them has to be given.
pub(super) fn filled(definition: &Definition, given: &Values) -> Result<Definition, String> {
    let mut values = BTreeMap::new();
    for (name, variable) in &definition.variables {
        let value = given.get(name).or(variable.default.as_ref());
        values.insert(&**name, value.ok_or_else(|| missing(name, variable))?.as_str());
    }
    let prompt = fill(&definition.prompt, |name| values.get(name).copied());
    Ok(Definition { prompt, ..definition.clone() })
}

fn missing(name: &str, Variable { description, .. }: &Variable) -> String {
    let what = description.as_ref().map(|what| format!(" ({what})")).unwrap_or_default();
    format!("its variable `{name}`{what} has no value")
}

/// Returns what a prompt has in double braces that is no variable of the agent's, and so stays as
/// it is.
pub(super) fn undeclared(definition: &Definition) -> Vec<String> {
    let mut names = Vec::new();
    fill(&definition.prompt, |name| {
        let is_odd = !definition.variables.contains_key(name) && is_name(name);
        if is_odd && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
        None
    });
    names
}

fn is_name(text: &str) -> bool {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    !text.is_empty() && text.chars().all(is_fit)
}

/// Puts values in the place of `{{name}}`. What has no value stays, and what is put in is not
/// looked at again.
fn fill<'a>(text: &str, mut value: impl FnMut(&str) -> Option<&'a str>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let found =
            after.split_once("}}").and_then(|(name, left)| Some((value(name.trim())?, left)));
        match found {
            Some((value, left)) => {
                filled.push_str(value);
                rest = left;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(prompt: &str, variables: &[(&str, Option<&str>, Option<&str>)]) -> Definition {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let variables = variables.iter().map(|(name, description, default)| {
            let variable = Variable { description: text(*description), default: text(*default) };
            ((*name).to_owned(), variable)
        });
        let (prompt, variables) = (prompt.to_owned(), variables.collect());
        Definition { prompt, variables, ..Definition::default() }
    }

    fn given(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_value_takes_the_place_of_its_name_and_nothing_else_does() {
        let prompt = "{{a}} and {{ b }}, {{c}}, {{}}, {{{a}}}, {{a";
        let agent = agent(prompt, &[("a", None, Some("1")), ("b", None, Some("{{a}}"))]);
        let prompt = filled(&agent, &given(&[("a", "2")])).unwrap().prompt;
        assert_eq!(prompt, "2 and {{a}}, {{c}}, {{}}, {{{a}}}, {{a");
        assert_eq!(undeclared(&agent), ["c"]);
    }

    #[test]
    fn a_variable_without_a_value_is_named_with_what_it_is_for() {
        let agent = agent("{{a}}", &[("a", Some("where to look"), None)]);
        let error = filled(&agent, &Values::new()).unwrap_err();
        assert_eq!(error, "its variable `a` (where to look) has no value");
        assert_eq!(filled(&agent, &given(&[("a", "")])).unwrap().prompt, "");
    }
}
