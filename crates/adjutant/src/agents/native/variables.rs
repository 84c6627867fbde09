//! What is put into an agent's prompt.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Fields;
use crate::{agents::definition::Variable, parameters::MODEL_PARAMETERS};

/// Reads the variables: `name = "default"`, or a table that says more.
pub(super) fn read(fields: &mut Fields<'_>) -> BTreeMap<String, Variable> {
    let mut table = fields.section("variables");
    let mut variables = BTreeMap::new();
    for (name, value) in table.rest() {
        if !is_name(&name) {
            table.wrong(&name, "is no name for a variable: letters, digits, `_` and `-` make one");
            continue;
        }
        if MODEL_PARAMETERS.contains(&&*name) {
            table.wrong(&name, "is what a parameter of models is called; give it another name");
            continue;
        }
        match variable(value) {
            Ok(variable) => drop(variables.insert(name, variable)),
            Err(why) => table.wrong(&name, why),
        }
    }
    fields.end_table(table);
    variables
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(fits)
}

fn variable(value: Value) -> Result<Variable, String> {
    let mut table = match value {
        Value::String(default) => {
            return Ok(Variable { description: None, default: Some(default) });
        }
        Value::Object(table) => table,
        _ => return Err("has to be text, or a table".to_owned()),
    };
    let mut text = |name: &str| match table.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("has a `{name}` that is no text")),
    };
    let (description, default) = (text("description")?, text("default")?);
    let is_required = match table.remove("required") {
        None => None,
        Some(Value::Bool(is_required)) => Some(is_required),
        Some(_) => return Err("has a `required` that is not `true` or `false`".to_owned()),
    };
    if let Some(name) = table.keys().next() {
        let known = "`description`, `default` and `required`";
        return Err(format!("has `{name}`, which is not known; there are {known}"));
    }
    match (default, is_required) {
        (Some(_), Some(true)) => Err("has a `default`, so it is not `required`".to_owned()),
        (None, Some(false)) => Ok(Variable { description, default: Some(String::new()) }),
        (default, _) => Ok(Variable { description, default }),
    }
}
