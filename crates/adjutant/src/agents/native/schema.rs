//! The schema that an agent's answer has to fit.

use std::{fs, path::Path, sync::Arc};

use adjutant_engine::Schema;
use serde_json::Value;

use super::Fields;
use crate::agents::{
    definition::Owner,
    problem::{Problem, Severity},
    text::{self, Written},
};

/// Reads the schema: a table, or the path of a JSON file from where the agent's file is.
pub(super) fn read(fields: &mut Fields<'_>, written: &Written) -> Option<Arc<Value>> {
    let schema = match fields.take("output_schema")? {
        schema @ Value::Object(_) => schema,
        Value::String(path) => match of_file(Path::new(&path), written) {
            Ok(schema) => schema,
            Err(Wrong::Here(why)) => {
                fields.wrong("output_schema", format!("is `{path}`, {why}"));
                return None;
            }
            Err(Wrong::There(problem)) => {
                fields.problems.push(problem);
                return None;
            }
        },
        _ => {
            fields.wrong("output_schema", "has to be a table, or the path of a JSON file");
            return None;
        }
    };
    match Schema::compile(&schema) {
        Ok(_) => Some(Arc::new(schema)),
        Err(why) => {
            fields.wrong("output_schema", format!("is no valid JSON Schema: {why}"));
            None
        }
    }
}

/// What is wrong, and in which file.
enum Wrong {
    Here(String),
    There(Problem),
}

fn of_file(path: &Path, written: &Written) -> Result<Value, Wrong> {
    let beside = written.file.parent().unwrap_or(Path::new("."));
    let file = beside.join(path);
    let real = fs::canonicalize(&file).map_err(|error| Wrong::Here(format!("but {error}")))?;
    // All of it is sent to the model's provider.
    if let Owner::Project(project) = &written.owner
        && !fs::canonicalize(project).is_ok_and(|project| real.starts_with(project))
    {
        return Err(Wrong::Here("which is outside the project".to_owned()));
    }
    let text = text::read(&real).map_err(Wrong::There)?;
    serde_json::from_str(&text).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        let problem = Problem::of(Severity::Error, &real, format!("is not JSON: {why}"));
        Wrong::There(problem.at(Some(error.line())))
    })
}
