//! Which schemas the provider can hold a model to.

use serde_json::{Map, Value};

/// Returns a schema as the provider takes it, if it does.
pub(super) fn kept(schema: &Value) -> Option<Value> {
    let mut schema = schema.clone();
    // Says how the rest is to be read, and is refused like all that is not known.
    schema.as_object_mut()?.remove("$schema");
    can_be_kept(&schema).then_some(schema)
}

/// Reports whether the provider takes a schema. It refuses a request whose schema says more than
/// it can enforce, or leaves an object open; such a schema is left to words and to whoever checks
/// the answer.
fn can_be_kept(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| {
        (!is_object(schema) || schema.contains_key("additionalProperties"))
            && schema.iter().all(|(key, value)| is_known(key, value))
    })
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let is_object = |name: &Value| name == "object";
    schema.contains_key("properties")
        || schema.get("type").is_some_and(|kind| match kind {
            Value::Array(kinds) => kinds.iter().any(is_object),
            kind => is_object(kind),
        })
}

fn is_known(key: &str, value: &Value) -> bool {
    match key {
        "type" | "title" | "description" | "required" => true,
        "const" => is_plain(value),
        "enum" => value.as_array().is_some_and(|values| values.iter().all(is_plain)),
        "additionalProperties" => *value == Value::Bool(false),
        "properties" => value.as_object().is_some_and(|fields| fields.values().all(can_be_kept)),
        "items" => can_be_kept(value),
        "anyOf" => value.as_array().is_some_and(|choices| choices.iter().all(can_be_kept)),
        _ => false,
    }
}

fn is_plain(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_sent_only_if_the_provider_takes_it() {
        let closed = json!({
            "type": "object",
            "description": "who and what",
            "properties": {
                "name": { "type": "string", "title": "Name" },
                "plan": { "enum": ["a", null, 3] },
                "tags": { "type": "array", "items": { "type": ["string", "null"] } },
                "more": { "anyOf": [{ "const": true }, { "type": "integer" }] },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        assert_eq!(kept(&closed), Some(closed.clone()));
        let mut named = closed.clone();
        named["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        assert_eq!(kept(&named), Some(closed.clone()));
        for (place, value) in [
            ("/additionalProperties", json!(true)),
            ("/properties/name", json!({ "type": "string", "minLength": 1 })),
            ("/properties/name", json!({ "type": "object" })),
            ("/properties/name", json!({ "properties": {} })),
            ("/properties/name", json!({ "type": ["object", "null"] })),
            ("/properties/name", json!({ "$ref": "#" })),
            ("/properties/name", json!({ "type": "string", "$schema": "x" })),
            ("/properties/plan", json!({ "enum": [{}] })),
            ("/properties/plan", json!({ "const": [] })),
            ("/properties/tags/items", json!({ "type": "number", "minimum": 0 })),
            ("/properties/more/anyOf/0", json!({ "oneOf": [] })),
            ("/properties/more", json!(true)),
        ] {
            let mut schema = closed.clone();
            *schema.pointer_mut(place).unwrap() = value;
            assert_eq!(kept(&schema), None, "{schema}");
        }
        assert_eq!(kept(&json!(true)), None);
    }
}
