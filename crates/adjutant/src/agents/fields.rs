//! The fields of a file: each is taken once, and what is left over is unknown.

use std::{collections::BTreeMap, fmt::Display, num::NonZeroU64, path::Path};

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::{
    problem::{Problem, Severity},
    text::Written,
};
use crate::nearest::nearest;

/// The fields of a file or of a table in it. Whoever takes one that is not what it should be
/// leaves a problem behind.
pub(crate) struct Fields<'a> {
    file: &'a Path,
    /// What stands before the names of the fields: nothing, or `table.`.
    section: String,
    values: Map<String, Value>,
    /// In which line which field is, by its whole name.
    lines: BTreeMap<String, usize>,
    /// The names that were asked for.
    known: Vec<&'static str>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Reads TOML.
    pub(crate) fn of_toml(written: &'a Written) -> Result<Self, Problem> {
        let line = |offset: usize| {
            1 + written.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
        };
        let table = DeTable::parse(&written.text).map_err(|error| {
            let start = error.span().unwrap_or_default().start;
            let why = format!("is not TOML: {}", error.message());
            Problem::of(Severity::Error, &written.file, why).at(Some(line(start)))
        })?;
        let mut lines = BTreeMap::new();
        let values = object(table.get_ref(), "", &mut |name, offset| {
            lines.insert(name, line(offset));
        });
        Ok(Self::new(&written.file, values, lines))
    }

    /// Takes what was read otherwise.
    pub(crate) fn new(
        file: &'a Path,
        values: Map<String, Value>,
        lines: BTreeMap<String, usize>,
    ) -> Self {
        let (section, known, problems) = (String::new(), Vec::new(), Vec::new());
        Self { file, section, values, lines, known, problems }
    }

    /// Returns in which line which field is.
    pub(crate) fn lines(&self) -> &BTreeMap<String, usize> {
        &self.lines
    }

    /// Takes a field, whatever it is.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.values.remove(name)
    }

    /// Takes text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.take_as(name, "text", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    /// Takes yes or no.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.take_as(name, "`true` or `false`", |value| value.as_bool())
    }

    /// Takes a number of at least one.
    pub(crate) fn count(&mut self, name: &'static str) -> Option<NonZeroU64> {
        self.take_as(name, "a whole number of at least 1", |value| NonZeroU64::new(value.as_u64()?))
    }

    /// Takes a whole number.
    pub(crate) fn whole(&mut self, name: &'static str) -> Option<u64> {
        self.take_as(name, "a whole number", |value| value.as_u64())
    }

    /// Takes any number.
    pub(crate) fn number(&mut self, name: &'static str) -> Option<Number> {
        self.take_as(name, "a number", |value| match value {
            Value::Number(number) => Some(number),
            _ => None,
        })
    }

    /// Takes a list of texts.
    pub(crate) fn list(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.take_as(name, "a list of texts", |value| match value {
            Value::Array(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Some(text),
                    _ => None,
                })
                .collect(),
            _ => None,
        })
    }

    /// Takes a table. What it leaves behind is to be [taken back](Self::end_table).
    pub(crate) fn table(&mut self, name: &'static str) -> Option<Fields<'a>> {
        let values = self.take_as(name, "a table", |value| match value {
            Value::Object(values) => Some(values),
            _ => None,
        })?;
        let section = format!("{}{name}.", self.section);
        let lines = self.lines.clone();
        Some(Fields { section, ..Fields::new(self.file, values, lines) })
    }

    /// Takes back a table, of which all that is known was taken.
    pub(crate) fn end_table(&mut self, table: Fields<'_>) {
        self.problems.extend(table.end(Severity::Error));
    }

    /// Says that a field is wrong, so that there can be no agent.
    pub(crate) fn wrong(&mut self, name: &str, why: impl Display) {
        self.say(Severity::Error, name, why, None);
    }

    /// Says that a field cannot be honoured, and why or what would be instead.
    pub(crate) fn drop(&mut self, name: &str, why: impl Display, hint: Option<&str>) {
        self.say(Severity::Dropped, name, why, hint);
    }

    /// Says that a field is odd.
    pub(crate) fn warn(&mut self, name: &str, why: impl Display, hint: Option<&str>) {
        self.say(Severity::Warning, name, why, hint);
    }

    fn say(&mut self, severity: Severity, name: &str, why: impl Display, hint: Option<&str>) {
        let name = format!("{}{name}", self.section);
        let problem = Problem::of(severity, self.file, format!("`{name}` {why}"));
        let problem = problem.at(self.lines.get(&name).copied());
        self.problems.push(match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    fn take_as<T>(
        &mut self,
        name: &'static str,
        what: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.take(name)?;
        if value.is_null() {
            return None;
        }
        let read = read(value);
        if read.is_none() {
            self.wrong(name, format!("has to be {what}"));
        }
        read
    }

    /// Returns the problems. What nobody took is unknown, which is as bad as said.
    pub(crate) fn end(mut self, unknown: Severity) -> Vec<Problem> {
        for (name, _) in std::mem::take(&mut self.values) {
            let meant = nearest(&name, self.known.iter().copied());
            let hint = meant.map(|meant| format!("did you mean `{}{meant}`?", self.section));
            self.say(unknown, &name, "is not known", hint.as_deref());
        }
        self.problems
    }
}

/// Returns a table as JSON, and tells where its fields are.
fn object(
    table: &DeTable<'_>,
    section: &str,
    at: &mut dyn FnMut(String, usize),
) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, value) in table {
        let whole = format!("{section}{}", name.get_ref());
        at(whole.clone(), name.span().start);
        object.insert(name.get_ref().to_string(), json(value.get_ref(), &whole, at));
    }
    object
}

fn json(value: &DeValue<'_>, name: &str, at: &mut dyn FnMut(String, usize)) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(number) => {
            let digits = i64::from_str_radix(number.as_str(), number.radix());
            digits.map_or_else(|_| Value::from(number.as_str()), Value::from)
        }
        DeValue::Float(number) => {
            let float = number.as_str().parse::<f64>().ok().and_then(Number::from_f64);
            float.map_or_else(|| Value::from(number.as_str()), Value::Number)
        }
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref(), name, at)).collect(),
        DeValue::Table(table) => Value::Object(object(table, &format!("{name}."), at)),
    }
}
