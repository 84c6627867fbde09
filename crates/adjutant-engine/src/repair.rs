//! Arguments from models that do not write JSON well.
//!
//! A repair is made only where there is one way to read what was written. What is
//! left is the tool's business to refuse.

use serde_json::{Map, Value};

/// How many choices of a schema are looked at for one value.
const MOST: usize = 64;

/// Makes the arguments of a call an object, as far as that can be done without
/// guessing.
pub(crate) fn repair(arguments: &Value, schema: &Value) -> Result<Value, String> {
    let mut fields = match arguments {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        Value::String(text) => parse(text)?,
        Value::Array(_) => return Err("the arguments must be a JSON object, not a list".into()),
        other => return Err(format!("the arguments must be a JSON object, not `{other}`")),
    };
    for (name, value) in &mut fields {
        let property = resolve(&schema["properties"][name], schema);
        if let Some(better) = reread(value, property, schema) {
            *value = better;
        }
    }
    Ok(Value::Object(fields))
}

/// Reads an object from text, trailing commas forgiven.
fn parse(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let strict = serde_json::from_str(text);
    let read = strict
        .or_else(|error| serde_json::from_str(&without_trailing_commas(text)).map_err(|_| error));
    match read {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are not JSON: {error}")),
    }
}

/// Reads text as what the schema asks for, if it asks for something else than text.
fn reread(value: &Value, property: &Value, schema: &Value) -> Option<Value> {
    if let Some(number) = value.as_f64()
        && !accepts(property, schema, "number")
        && accepts(property, schema, "integer")
    {
        let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
        return (value.is_f64() && is_whole).then(|| Value::from(number as i64));
    }
    let text = value.as_str()?;
    if property.is_null() || accepts(property, schema, "string") {
        return None;
    }
    let read: Value = serde_json::from_str(&without_trailing_commas(text)).ok()?;
    let kinds: &[&str] = match &read {
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_f64() => &["number"],
        Value::Number(_) => &["integer", "number"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
        Value::Null | Value::String(_) => &[],
    };
    kinds.iter().any(|kind| accepts(property, schema, kind)).then_some(read)
}

/// Reports whether a schema takes values of a kind. A schema may be a stranger's, and lead in
/// circles: not all of it is looked at then.
fn accepts(property: &Value, schema: &Value, kind: &str) -> bool {
    let mut open = vec![property];
    for _ in 0..MOST {
        let Some(property) = open.pop() else { return false };
        let property = resolve(property, schema);
        let does_accept = match &property["type"] {
            Value::String(name) => name == kind,
            Value::Array(names) => names.iter().any(|name| name == kind),
            _ if kind == "string" && property.get("enum").is_some() => true,
            _ => {
                let choices = ["anyOf", "oneOf"].map(|key| property[key].as_array());
                open.extend(choices.into_iter().flatten().flatten());
                false
            }
        };
        if does_accept {
            return true;
        }
    }
    false
}

fn resolve<'a>(property: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = property["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(property)
}

/// Drops commas that stand before a closing bracket, outside of strings.
fn without_trailing_commas(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
        } else if c == '"' {
            in_string = true;
        } else if matches!(c, '}' | ']') && kept.trim_end().ends_with(',') {
            kept.truncate(kept.trim_end().len() - 1);
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "properties": {
                "path": { "type": "string" },
                "limit": { "type": ["integer", "null"] },
                "deep": { "type": "boolean" },
                "tools": { "type": "array" },
                "budget": { "anyOf": [{ "$ref": "#/$defs/Budget" }, { "type": "null" }] },
            },
            "$defs": { "Budget": { "type": "object" } },
        })
    }

    #[test]
    fn what_can_be_read_in_one_way_is_repaired() {
        let cases = [
            (json!(r#"{"path": "a,]", "limit": 3,}"#), json!({ "path": "a,]", "limit": 3 })),
            (json!({ "limit": "5", "deep": "true" }), json!({ "limit": 5, "deep": true })),
            (json!({ "limit": 5.0 }), json!({ "limit": 5 })),
            (json!({ "tools": "[\"a\",]" }), json!({ "tools": ["a"] })),
            (json!({ "budget": "{\"x\":1}" }), json!({ "budget": { "x": 1 } })),
            (json!(null), json!({})),
            (json!(""), json!({})),
        ];
        for (written, meant) in cases {
            assert_eq!(repair(&written, &schema()), Ok(meant), "{written}");
        }
    }

    #[test]
    fn what_is_ambiguous_is_left_alone() {
        for written in [
            json!({ "path": "5" }),
            json!({ "limit": "many" }),
            json!({ "limit": 5.5 }),
            json!({ "unknown": "true" }),
            json!({ "deep": "1" }),
        ] {
            assert_eq!(repair(&written, &schema()), Ok(written));
        }
    }

    #[test]
    fn a_schema_that_leads_in_circles_ends() {
        let round = json!({ "anyOf": vec![json!({ "$ref": "#/$defs/Round" }); 100] });
        let schema = json!({ "properties": { "a": round }, "$defs": { "Round": round } });
        let written = json!({ "a": "5" });
        assert_eq!(repair(&written, &schema), Ok(written));
    }

    #[test]
    fn what_is_nested_too_deep_is_not_read() {
        let deep = "[".repeat(200_000);
        assert!(repair(&json!(deep), &schema()).is_err());
        assert!(repair(&json!(format!("{{\"tools\": {deep}")), &schema()).is_err());
        let written = json!({ "tools": format!("{deep}{}", "]".repeat(200_000)) });
        assert_eq!(repair(&written, &schema()), Ok(written));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for written in [json!("rm -rf"), json!([1]), json!(3), json!("{\"a\": "), json!("{}{}")] {
            assert!(repair(&written, &schema()).is_err(), "{written}");
        }
    }
}
