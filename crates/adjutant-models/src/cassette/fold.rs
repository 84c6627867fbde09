//! Texts of several lines as lists of lines, so that a difference is seen line by line.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, de::Error};
use serde_json::{Map, Value};

/// What stands for a text of several lines is an object with this key alone.
const LINES: &str = "lines";

/// A value that is written with every text of several lines in it as a list of lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Folded<T>(pub(super) T);

impl<T: Serialize> Serialize for Folded<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let value = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        fold(value).serialize(to)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Folded<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = unfold(Value::deserialize(from)?);
        serde_json::from_value(value).map(Self).map_err(D::Error::custom)
    }
}

fn fold(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\n') => {
            let lines = text.split('\n').map(Value::from).collect();
            single(LINES.to_owned(), Value::Array(lines))
        }
        // An object that looks like folded text is told apart by one more `_`.
        other => rebuild(other, fold, |key| format!("_{key}")),
    }
}

fn unfold(value: Value) -> Value {
    let lines = match &value {
        Value::Object(fields) if fields.len() == 1 => fields.get(LINES).and_then(Value::as_array),
        _ => None,
    };
    let lines = lines.and_then(|lines| lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match lines {
        Some(lines) => lines.join("\n").into(),
        None => rebuild(value, unfold, |key| key.replacen('_', "", 1)),
    }
}

/// Makes another value of a value, and another key of the only key of an object that
/// looks, or was made not to look, like folded text.
fn rebuild(value: Value, each: fn(Value) -> Value, rename: fn(&str) -> String) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(each).collect(),
        Value::Object(fields) => {
            let is_alone = fields.len() == 1;
            let looks_folded = |key: &str| is_alone && key.trim_start_matches('_') == LINES;
            let fields = fields.into_iter().map(|(key, value)| {
                let key = if looks_folded(&key) { rename(&key) } else { key };
                (key, each(value))
            });
            fields.collect()
        }
        plain => plain,
    }
}

fn single(key: String, value: Value) -> Value {
    Value::Object(Map::from_iter([(key, value)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, written: &Value) {
        let folded = Folded(value);
        let is = serde_json::to_value(&folded).unwrap();
        assert_eq!(is, *written);
        assert_eq!(serde_json::from_value::<Folded<Value>>(is).unwrap(), folded);
    }

    #[test]
    fn texts_are_folded_at_any_depth() {
        check(json!("one"), &json!("one"));
        check(json!("\n"), &json!({ "lines": ["", ""] }));
        let text = json!({ "a": [{ "b": "one\ntwo\n" }, null] });
        check(text, &json!({ "a": [{ "b": { "lines": ["one", "two", ""] } }, null] }));
    }

    #[test]
    fn what_looks_like_folded_text_is_told_apart() {
        check(json!({ "lines": ["a", "b"] }), &json!({ "_lines": ["a", "b"] }));
        check(json!({ "__lines": "a\nb" }), &json!({ "___lines": { "lines": ["a", "b"] } }));
        check(json!({ "lines": 1, "b": 2 }), &json!({ "lines": 1, "b": 2 }));
    }
}
