//! The arguments of a call: whatever a model wrote, for whatever schema.

use adjutant_engine::fuzz::repair;
use serde_json::{Value, json};

use super::hash;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "repair",
    words: &[
        BETWEEN,
        "\"path\":",
        "\"limit\":",
        "\"deep\":",
        "\"tools\":",
        "\"budget\":",
        "\"5\"",
        "5.0",
        "\"true\"",
        "\"[1,]\"",
        "\"{\\\"a\\\":1}\"",
        ",}",
        ",]",
        "\\\"",
        "{\"type\":\"integer\"}",
        "{\"type\":[\"string\",\"null\"]}",
        "{\"$ref\":\"#/properties/path\"}",
        "\"anyOf\":[",
        "\"enum\":[",
    ],
    check,
};

/// What stands between the arguments and the schema.
const BETWEEN: &str = "\n%%\n";

/// What is repaired is an object that needs no repair, and nothing that was right is changed.
fn check(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let (written, schema) = text.split_once(BETWEEN).unwrap_or((&text, ""));
    let schema = serde_json::from_str(schema).unwrap_or_else(|_| usual());
    let read: Option<Value> = serde_json::from_str(written).ok();
    let mut kinds = Vec::new();
    for arguments in [Some(json!(written)), read].into_iter().flatten() {
        let repaired = repair(&arguments, &schema);
        match &repaired {
            Ok(repaired) => check_repaired(&arguments, repaired, &schema),
            Err(why) => assert!(why.len() < 1000, "a complaint of {} bytes", why.len()),
        }
        kinds.push(repaired.map(|it| {
            let fields = it.as_object().into_iter().flatten();
            fields.map(|(_, value)| kind(value)).take(8).collect::<Vec<_>>()
        }));
    }
    hash(kinds)
}

fn check_repaired(arguments: &Value, repaired: &Value, schema: &Value) {
    assert!(repaired.is_object(), "{repaired} is no object");
    let again = repair(repaired, schema);
    assert_eq!(again.as_ref(), Ok(repaired), "a repair was repaired");
    let Some(fields) = arguments.as_object() else { return };
    assert_eq!(repaired.as_object().map_or(0, |it| it.len()), fields.len(), "a field is gone");
    for (name, value) in fields {
        let wanted = &schema["properties"][name]["type"];
        let is_right = wanted == kind(value) || (wanted == "number" && value.is_number());
        if is_right || wanted == "string" {
            assert_eq!(repaired.get(name), Some(value), "what was right was changed");
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn usual() -> Value {
    json!({
        "properties": {
            "path": { "type": "string" },
            "limit": { "type": "integer" },
            "deep": { "type": "boolean" },
            "tools": { "type": ["array", "null"] },
            "budget": { "anyOf": [{ "$ref": "#/$defs/Budget" }, { "type": "null" }] },
        },
        "$defs": { "Budget": { "type": "object" } },
    })
}
