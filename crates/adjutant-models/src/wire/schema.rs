//! The schema that an answer has to fit, as OpenAI's interfaces take it.

use adjutant_core::Request;
use serde_json::{Value, json};

use super::Speaker;
use crate::provider::Schema;

/// What a schema may say, besides what its parts say, to be enforced to the letter.
const ENFORCEABLE: [&str; 16] = [
    "$schema",
    "additionalProperties",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "title",
    "type",
];

/// Returns the format of an answer that has to fit a schema, if the provider can be told. It
/// takes none but an object's.
pub(super) fn format(speaker: &Speaker, request: &Request<'_>) -> Option<Value> {
    let is_taken =
        |schema: &&Value| speaker.quirks.schema == Schema::Native && schema["type"] == "object";
    let schema = request.schema.filter(is_taken)?;
    Some(json!({ "name": "answer", "schema": schema, "strict": is_strict(schema) }))
}

/// Reports whether a schema can be enforced to the letter. Others are refused if that is
/// asked for.
fn is_strict(schema: &Value) -> bool {
    schema.get("anyOf").is_none() && is_enforceable(schema)
}

fn is_enforceable(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    if fields.contains_key("$ref") {
        return fields.len() == 1;
    }
    let is = |kind: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    };
    (fields.contains_key("type") || fields.contains_key("anyOf"))
        && (!is("object") || is_closed(schema))
        && (!is("array") || fields.contains_key("items"))
        && fields.iter().all(|(name, value)| match name.as_str() {
            "properties" | "$defs" | "definitions" => {
                value.as_object().is_some_and(|parts| parts.values().all(is_enforceable))
            }
            "anyOf" => value.as_array().is_some_and(|parts| parts.iter().all(is_enforceable)),
            "items" => is_enforceable(value),
            name => ENFORCEABLE.contains(&name),
        })
}

/// Reports whether an object always has the same fields.
fn is_closed(object: &Value) -> bool {
    let required = object["required"].as_array();
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|one| one == name));
    let mut names = object["properties"].as_object().into_iter().flat_map(|parts| parts.keys());
    object["additionalProperties"] == false && names.all(is_required)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{request, speaker};

    /// Makes an object with one field.
    fn object(field: &Value) -> Value {
        json!({
            "type": "object",
            "properties": { "field": field },
            "required": ["field"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn what_can_be_enforced_is() {
        for field in [
            json!({ "type": "string", "description": "a name", "pattern": "^a" }),
            json!({ "type": ["integer", "null"], "minimum": 0 }),
            json!({ "type": "array", "items": object(&json!({ "type": "null" })), "maxItems": 3 }),
            json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "$ref": "#/$defs/b" }] }),
            object(&json!({ "type": "number" })),
        ] {
            assert!(is_strict(&object(&field)), "{field}");
        }
        let mut with_definitions = object(&json!({ "$ref": "#/$defs/b" }));
        with_definitions["$defs"] = json!({ "b": { "type": "string" } });
        assert!(is_strict(&with_definitions));
        assert!(is_strict(&json!({ "type": "object", "additionalProperties": false })));
    }

    #[test]
    fn what_cannot_be_enforced_is_not_asked_for() {
        let open = json!({ "type": "object", "properties": {} });
        let optional = json!({
            "type": "object",
            "properties": { "a": { "type": "string" } },
            "required": [],
            "additionalProperties": false,
        });
        for field in [
            open.clone(),
            optional,
            json!({}),
            json!(true),
            json!({ "type": "array" }),
            json!({ "type": "array", "items": open }),
            json!({ "type": ["object", "null"] }),
            json!({ "anyOf": [{ "type": "string" }, open] }),
            json!({ "type": "string", "default": "a" }),
            json!({ "type": "string", "format": "uri" }),
            json!({ "$ref": "#/$defs/b", "description": "b" }),
            json!({ "type": "string", "allOf": [] }),
            json!({ "type": "string", "not": {} }),
            json!({ "oneOf": [{ "type": "string" }] }),
        ] {
            assert!(!is_strict(&object(&field)), "{field}");
        }
        let mut with_definitions = object(&json!({ "type": "string" }));
        with_definitions["$defs"] = json!({ "b": open });
        assert!(!is_strict(&with_definitions));
        let mut choice = object(&json!({ "type": "string" }));
        choice["anyOf"] = json!([{ "type": "string" }]);
        assert!(!is_strict(&choice));
    }

    #[test]
    fn only_who_can_hold_a_model_to_a_schema_is_told() {
        let schema = object(&json!({ "type": "string" }));
        let request = Request { schema: Some(&schema), ..request(&[], &[]) };
        let expected = json!({ "name": "answer", "schema": schema, "strict": true });
        for provider in ["openai", "openai-responses", "openrouter", "mistral", "xai"] {
            assert_eq!(format(&speaker(provider, "m"), &request), Some(expected.clone()));
        }
        for provider in ["groq", "deepseek", "together", "cerebras", "ollama", "vllm"] {
            assert_eq!(format(&speaker(provider, "m"), &request), None, "{provider}");
        }
    }

    #[test]
    fn a_schema_whose_root_is_no_object_is_left_to_words() {
        for schema in [
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": ["object", "null"] }),
            json!({ "anyOf": [{ "type": "string" }] }),
            json!(true),
        ] {
            let request = Request { schema: Some(&schema), ..request(&[], &[]) };
            assert_eq!(format(&speaker("openai", "m"), &request), None, "{schema}");
        }
        let open = json!({ "type": "object" });
        let request = Request { schema: Some(&open), ..request(&[], &[]) };
        let expected = json!({ "name": "answer", "schema": open, "strict": false });
        assert_eq!(format(&speaker("openai", "m"), &request), Some(expected));
    }
}
