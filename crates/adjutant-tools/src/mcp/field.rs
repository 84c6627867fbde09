//! One field of a form a server wants filled in.

use reqwest::Url;
use serde_json::{Number, Value};

/// The choice that leaves a field out.
const LEAVE_OUT: &str = "(leave out)";
/// The same where there is nothing to choose from. A choice there would have a number, which
/// could be the answer.
const NONE: &str = "-";

/// One field of a form.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    /// Its JSON Schema.
    pub(crate) definition: &'a Value,
    pub(crate) is_required: bool,
}

impl Field<'_> {
    /// Returns what is asked.
    pub(crate) fn prompt(&self) -> String {
        let text = |key: &str| self.definition[key].as_str();
        let title = text("title").unwrap_or(self.name);
        let about = text("description").map(|about| format!(": {about}")).unwrap_or_default();
        format!("{title}{about} ({})", self.kind())
    }

    /// Returns the answers to choose from.
    pub(crate) fn choices(&self) -> Vec<String> {
        let mut choices: Vec<_> = match &self.definition["type"] {
            kind if kind == "boolean" => vec!["yes".to_owned(), "no".to_owned()],
            kind if kind == "array" => Vec::new(),
            _ => options(self.definition).into_iter().map(|(_, title)| title).collect(),
        };
        if !self.is_required && !choices.is_empty() {
            choices.push(LEAVE_OUT.to_owned());
        }
        choices
    }

    /// Reads an answer as the field wants it, or says what is wrong; nothing, if it is left
    /// out.
    pub(crate) fn read(&self, text: &str) -> Result<Option<Value>, String> {
        let text = text.trim();
        let none = if self.choices().is_empty() { NONE } else { LEAVE_OUT };
        if !self.is_required && (text.is_empty() || text == none) {
            return Ok(None);
        }
        let fits = match self.definition["type"].as_str() {
            Some("boolean") => boolean(text),
            Some("integer" | "number") => self.number(text),
            Some("array") => self.several(text),
            _ => self.string(text),
        };
        fits.map(Some).ok_or_else(|| format!("expected {}", self.kind()))
    }

    /// Says what fits.
    fn kind(&self) -> String {
        let definition = self.definition;
        let titles = |of: &Value| {
            options(of).into_iter().map(|(_, title)| title).collect::<Vec<_>>().join(", ")
        };
        let kind = match definition["type"].as_str() {
            Some("boolean") => "yes or no".to_owned(),
            Some("integer") => format!("a whole number{}", range(definition)),
            Some("number") => format!("a number{}", range(definition)),
            Some("array") => format!("any of these, with commas: {}", titles(&definition["items"])),
            _ if has_options(definition) => format!("one of: {}", titles(definition)),
            _ => match definition["format"].as_str() {
                Some("email") => "an email address".to_owned(),
                Some("uri") => "an address such as https://example.org".to_owned(),
                Some("date") => "a date such as 2026-01-31".to_owned(),
                Some("date-time") => "a time such as 2026-01-31T12:00:00Z".to_owned(),
                _ => format!("text{}", length(definition)),
            },
        };
        match (self.is_required, self.choices().is_empty()) {
            (true, _) => kind,
            (false, true) => format!("{kind}; optional: {NONE} leaves it out"),
            (false, false) => format!("{kind}; optional"),
        }
    }

    fn number(&self, text: &str) -> Option<Value> {
        let number: Number = text.parse().ok()?;
        let is_whole = number.is_i64() || number.is_u64();
        let value = number.as_f64()?;
        let is_in = |key: &str, holds: fn(f64, f64) -> bool| {
            self.definition[key].as_f64().is_none_or(|limit| holds(value, limit))
        };
        let fits = is_in("minimum", |value, least| value >= least)
            && is_in("maximum", |value, most| value <= most)
            && (is_whole || self.definition["type"] != "integer");
        fits.then_some(Value::Number(number))
    }

    fn string(&self, text: &str) -> Option<Value> {
        if has_options(self.definition) {
            return option(self.definition, text);
        }
        let length = text.chars().count() as u64;
        let limit = |key: &str| self.definition[key].as_u64();
        let fits = limit("minLength").is_none_or(|least| length >= least)
            && limit("maxLength").is_none_or(|most| length <= most)
            && match self.definition["format"].as_str() {
                Some("email") => is_email(text),
                Some("uri") => Url::parse(text).is_ok(),
                Some("date") => is_date(text),
                Some("date-time") => {
                    text.split_once(['T', 't', ' ']).is_some_and(|(date, time)| {
                        is_date(date) && time.starts_with(|c: char| c.is_ascii_digit())
                    })
                }
                _ => !text.is_empty() || limit("minLength") == Some(0),
            };
        fits.then(|| text.into())
    }

    fn several(&self, text: &str) -> Option<Value> {
        let chosen = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let chosen: Option<Vec<_>> =
            chosen.map(|part| option(&self.definition["items"], part)).collect();
        let (chosen, limit) = (chosen?, |key: &str| self.definition[key].as_u64());
        let count = chosen.len() as u64;
        let fits = limit("minItems").is_none_or(|least| count >= least)
            && limit("maxItems").is_none_or(|most| count <= most);
        fits.then_some(Value::Array(chosen))
    }
}

fn boolean(text: &str) -> Option<Value> {
    match text.to_lowercase().as_str() {
        "yes" | "y" | "true" => Some(true.into()),
        "no" | "n" | "false" => Some(false.into()),
        _ => None,
    }
}

fn has_options(definition: &Value) -> bool {
    ["enum", "oneOf", "anyOf"].iter().any(|key| definition[key].is_array())
}

/// Returns the values to choose from, each with what it is called.
fn options(definition: &Value) -> Vec<(String, String)> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| definition[key].as_array());
    if let Some(titled) = titled {
        let options = titled.iter().filter_map(|option| {
            let value = option["const"].as_str()?;
            Some((value.to_owned(), option["title"].as_str().unwrap_or(value).to_owned()))
        });
        return options.collect();
    }
    let values = definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let titles = &definition["enumNames"];
    let options = values.enumerate().map(|(index, value)| {
        (value.to_owned(), titles[index].as_str().unwrap_or(value).to_owned())
    });
    options.collect()
}

/// Finds a choice by its value or by what it is called.
fn option(definition: &Value, text: &str) -> Option<Value> {
    let found =
        options(definition).into_iter().find(|(value, title)| value == text || title == text);
    found.map(|(value, _)| value.into())
}

fn range(definition: &Value) -> String {
    match (&definition["minimum"], &definition["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(", at least {least}"),
        (Value::Null, most) => format!(", at most {most}"),
        (least, most) => format!(" from {least} to {most}"),
    }
}

fn length(definition: &Value) -> String {
    match (&definition["minLength"], &definition["maxLength"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(" of at least {least} characters"),
        (Value::Null, most) => format!(" of at most {most} characters"),
        (least, most) => format!(" of {least} to {most} characters"),
    }
}

fn is_email(text: &str) -> bool {
    let parts: Vec<_> = text.split('@').collect();
    parts.len() == 2 && parts.iter().all(|part| !part.is_empty()) && !text.contains(' ')
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    let number = |part: &str| part.parse::<u32>().ok();
    lengths == [4, 2, 2]
        && number(parts[0]).is_some()
        && number(parts[1]).is_some_and(|month| (1..=12).contains(&month))
        && number(parts[2]).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(definition: &Value, text: &str) -> Option<Value> {
        Field { name: "f", definition, is_required: true }.read(text).ok().flatten()
    }

    #[test]
    fn an_answer_becomes_what_the_field_wants() {
        let colours =
            json!({ "type": "string", "enum": ["r", "g"], "enumNames": ["red", "green"] });
        let sizes = json!({ "type": "string", "oneOf": [{ "const": "s", "title": "Small" }] });
        let many = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] } });
        let cases = [
            (json!({ "type": "boolean" }), "Yes", json!(true)),
            (json!({ "type": "boolean" }), "false", json!(false)),
            (json!({ "type": "integer", "minimum": 1, "maximum": 3 }), " 3 ", json!(3)),
            (json!({ "type": "number" }), "2.5", json!(2.5)),
            (json!({ "type": "string" }), "a b", json!("a b")),
            (json!({ "type": "string", "format": "email" }), "a@b.c", json!("a@b.c")),
            (json!({ "type": "string", "format": "uri" }), "https://a", json!("https://a")),
            (json!({ "type": "string", "format": "date" }), "2026-01-31", json!("2026-01-31")),
            (colours.clone(), "green", json!("g")),
            (colours, "r", json!("r")),
            (sizes, "Small", json!("s")),
            (many, "b, a", json!(["b", "a"])),
        ];
        for (definition, text, value) in cases {
            assert_eq!(read(&definition, text), Some(value), "{definition}");
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_is_none() {
        let many = json!({ "type": "array", "minItems": 1, "items": { "enum": ["a", "b"] } });
        let cases = [
            (json!({ "type": "boolean" }), "perhaps"),
            (json!({ "type": "integer" }), "2.5"),
            (json!({ "type": "integer", "minimum": 1 }), "0"),
            (json!({ "type": "integer", "maximum": 3 }), "4"),
            (json!({ "type": "number" }), "many"),
            (json!({ "type": "string" }), ""),
            (json!({ "type": "string", "minLength": 2 }), "a"),
            (json!({ "type": "string", "maxLength": 2 }), "abc"),
            (json!({ "type": "string", "format": "email" }), "a.b"),
            (json!({ "type": "string", "format": "uri" }), "a"),
            (json!({ "type": "string", "format": "date" }), "2026-13-01"),
            (json!({ "type": "string", "format": "date-time" }), "2026-12-01"),
            (json!({ "type": "string", "enum": ["r"] }), "R"),
            (many.clone(), "a, c"),
            (many, ","),
        ];
        for (definition, text) in cases {
            assert_eq!(read(&definition, text), None, "{definition} {text}");
        }
    }

    #[test]
    fn only_an_optional_field_can_be_left_out() {
        let definition = json!({ "type": "boolean" });
        let field = |is_required| Field { name: "f", definition: &definition, is_required };
        assert_eq!(field(false).read(LEAVE_OUT), Ok(None));
        assert_eq!(field(false).read(""), Ok(None));
        assert_eq!(field(false).choices(), ["yes", "no", LEAVE_OUT]);
        assert!(field(true).read(LEAVE_OUT).is_err() && field(false).read(NONE).is_err());
        assert_eq!(field(true).choices(), ["yes", "no"]);
    }

    #[test]
    fn a_number_is_not_taken_for_that_of_a_choice() {
        let definition = json!({ "type": "integer" });
        let field = |is_required| Field { name: "f", definition: &definition, is_required };
        assert_eq!(field(false).choices(), [""; 0]);
        assert_eq!(field(false).read("1"), Ok(Some(json!(1))));
        assert_eq!(field(false).read(NONE), Ok(None));
        assert!(field(true).read(NONE).is_err());
    }

    #[test]
    fn a_question_says_what_fits() {
        let definition = json!({ "type": "integer", "title": "Age", "minimum": 1, "maximum": 9 });
        let field = Field { name: "age", definition: &definition, is_required: false };
        assert_eq!(field.prompt(), "Age (a whole number from 1 to 9; optional: - leaves it out)");
        let definition = json!({ "type": "boolean", "description": "Really?" });
        let field = Field { name: "sure", definition: &definition, is_required: true };
        assert_eq!(field.prompt(), "sure: Really? (yes or no)");
    }
}
