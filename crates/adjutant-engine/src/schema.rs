//! JSON Schemas. No other file knows the validator, so that another can take its place.

use std::{error::Error, sync::Arc, thread, time::Duration};

use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use tokio::{task::spawn_blocking, time::timeout};

use crate::dispatch::message_of;

/// What a schema is called where the validator wants an address.
const ADDRESS: &str = "urn:schema";

/// How long a value may take to be checked. Some schemas, if only hostile ones, would take
/// for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// The stack of a check, of which the system lends what is used. The validator goes as deep
/// as schema and value lead it.
const ROOM: usize = 512 << 20;

/// The most that is told of what is wrong.
const MOST_FAULTS: usize = 8;
const LONGEST_FAULT: usize = 300;

/// A schema that values are checked against, of draft 2020-12 where it does not say.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// Reads a schema, or says what is wrong with it. What it refers to has to be in it.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        with_room(|| compile(schema)).flatten()
    }

    /// Checks a value, or says what is wrong with it and where.
    pub(crate) async fn check(self: &Arc<Self>, value: Value) -> Result<(), String> {
        let schema = Arc::clone(self);
        let check = move || schema.schemas.validate(&value, schema.index).map_err(|it| faults(&it));
        let checked = spawn_blocking(|| with_room(check).flatten());
        match timeout(PATIENCE, checked).await {
            Ok(checked) => checked.map_err(|error| error.to_string()).flatten(),
            Err(_) => Err(format!("it could not be checked within {} s", PATIENCE.as_secs())),
        }
    }
}

fn compile(schema: &Value) -> Result<Schema, String> {
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    compiler.use_loader(Box::new(Nowhere));
    let mut schemas = Schemas::new();
    let added = compiler.add_resource(ADDRESS, schema.clone());
    let index = added.and_then(|()| compiler.compile(ADDRESS, &mut schemas));
    let index = index.map_err(|error| match error {
        CompileError::ValidationError { src, .. } => faults(&src),
        error => brief(&format!("{error:#}")),
    })?;
    Ok(Schema { schemas, index })
}

/// Where a schema may find others. Whoever wrote it must not have files read or servers
/// asked.
struct Nowhere;

impl UrlLoader for Nowhere {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("a schema may refer only to what is in it".into())
    }
}

/// Works on a thread with a large stack. A panic there is an error here.
fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(ROOM).spawn_scoped(scope, work);
        let worker = worker.map_err(|error| format!("it cannot be checked: {error}"))?;
        worker.join().map_err(|panic| message_of(&*panic))
    })
}

/// Tells what is wrong with a value, each fault with its place as a JSON Pointer.
fn faults(error: &ValidationError<'_, '_>) -> String {
    let text = error.to_string();
    // The first line names the schema.
    let faults: Vec<_> =
        text.lines().skip(1).map(|line| line.trim_start_matches([' ', '-'])).collect();
    let mut told: Vec<_> = faults.iter().take(MOST_FAULTS).map(|fault| brief(fault)).collect();
    if faults.len() > MOST_FAULTS {
        told.push(format!("and {} more", faults.len() - MOST_FAULTS));
    }
    told.join("; ")
}

fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_FAULT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    async fn check(schema: &Value, value: Value) -> Result<(), String> {
        Arc::new(Schema::compile(schema).unwrap()).check(value).await
    }

    #[tokio::test]
    async fn a_fault_has_its_place_and_there_are_not_too_many() {
        let schema = json!({ "items": { "properties": { "a/b": { "type": "string" } } } });
        let fault = |place| format!("at '/{place}/a~1b': want string, but got number");
        let all = |count| Value::Array(vec![json!({ "a/b": 5 }); count]);
        assert_eq!(check(&schema, json!([{ "a/b": "" }])).await, Ok(()));
        assert_eq!(check(&schema, all(2)).await, Err(format!("{}; {}", fault(0), fault(1))));
        let many = check(&schema, all(20)).await.unwrap_err();
        assert!(many.ends_with(&format!("{}; and 12 more", fault(7))), "{many}");
    }

    #[tokio::test]
    async fn a_fault_is_not_told_at_length() {
        let schema = json!({ "pattern": "^a" });
        let why = check(&schema, json!("é\n".repeat(9999))).await.unwrap_err();
        assert!(why.starts_with("at '': 'é") && why.chars().count() == LONGEST_FAULT + 1, "{why}");
    }

    #[tokio::test]
    async fn a_format_is_a_demand() {
        let schema = json!({ "format": "date" });
        assert_eq!(check(&schema, json!("2024-02-29")).await, Ok(()));
        assert!(check(&schema, json!("tomorrow")).await.is_err());
    }

    #[tokio::test]
    async fn an_older_draft_is_heeded() {
        let draft = "http://json-schema.org/draft-07/schema#";
        let schema = json!({ "$schema": draft, "items": [{ "type": "string" }] });
        assert!(check(&schema, json!([5])).await.is_err());
        assert!(Schema::compile(&json!({ "items": [{ "type": "string" }] })).is_err());
    }

    #[tokio::test]
    async fn a_schema_that_leads_deep_does_not_break_the_process() {
        let link = |n: usize| (format!("a{n}"), json!({ "$ref": format!("#/$defs/a{}", n + 1) }));
        let mut links: Map<_, _> = (0..3000).map(link).collect();
        links.insert("a3000".to_owned(), json!({ "type": "string" }));
        let schema = json!({ "$ref": "#/$defs/a0", "$defs": links });
        let why = check(&schema, json!(5)).await.unwrap_err();
        assert_eq!(why, "at '': want string, but got number");

        let nested = (0..120).fold(json!({ "type": "string" }), |inner, _| json!({ "not": inner }));
        assert_eq!(check(&nested, json!("")).await, Ok(()));
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        for schema in [json!(5), json!([]), json!({ "type": "strin" }), json!({ "pattern": "(" })] {
            assert!(Schema::compile(&schema).is_err(), "{schema}");
        }
        for reference in ["file:///etc/passwd", "https://localhost/x", "other.json", "#/no"] {
            assert!(Schema::compile(&json!({ "$ref": reference })).is_err(), "{reference}");
            assert!(Schema::compile(&json!({ "$schema": reference })).is_err(), "{reference}");
        }
    }
}
