//! The fields of a file: each is taken once, and what is left over is unknown.

use std::{
    collections::BTreeMap,
    fmt::Display,
    num::NonZeroU64,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::{
    problem::{Problem, Severity},
    text::Written,
};
use crate::nearest::close;

/// Longer than anyone waits, and short enough that no clock overflows.
const YEAR_SECONDS: u64 = 365 * 24 * 60 * 60;

/// The fields of a file or of a table in it. Whoever takes one that is not what it should be
/// leaves a problem behind.
pub(crate) struct Fields<'a> {
    file: &'a Path,
    /// What stands before the names of the fields: nothing, or `table.`.
    section: String,
    values: Map<String, Value>,
    /// In which line which field is, by its whole name; an item of a list is `field[text]`, or
    /// `field[index]` if it is a table.
    lines: BTreeMap<String, usize>,
    /// The whole names that were asked for, in its tables too.
    known: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Reads TOML.
    pub(crate) fn of_toml(written: &'a Written) -> Result<Self, Problem> {
        let ends: Vec<_> = written.text.match_indices('\n').map(|(offset, _)| offset).collect();
        let line = |offset: usize| 1 + ends.partition_point(|end| *end < offset);
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

    /// Returns the whole names of all fields that were asked for.
    #[cfg(test)]
    pub(crate) fn known(&self) -> &[String] {
        &self.known
    }

    /// Reports whether all was taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes a field, whatever it is.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(format!("{}{name}", self.section));
        self.values.remove(name)
    }

    /// Takes a field whose name is found to mean something, and returns its name and that.
    pub(crate) fn take_meant<T>(
        &mut self,
        meant: impl Fn(&str) -> Option<T>,
    ) -> Option<(String, T)> {
        let mut names = self.values.keys();
        let (name, found) = names.find_map(|name| Some((name.clone(), meant(name)?)))?;
        self.values.remove(&name);
        Some((name, found))
    }

    /// Takes all that is left, of a table in which any name will do.
    pub(crate) fn rest(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.values)
    }

    /// Takes text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.take_as(name, "text", text)
    }

    /// Takes text in which there is something.
    pub(crate) fn word(&mut self, name: &'static str) -> Option<String> {
        let word = self.text(name)?;
        let is_empty = word.trim().is_empty();
        if is_empty {
            self.wrong(name, "must not be empty");
        }
        (!is_empty).then_some(word)
    }

    /// Takes a path.
    pub(crate) fn path(&mut self, name: &'static str) -> Option<PathBuf> {
        self.word(name).map(Into::into)
    }

    /// Takes yes or no.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.take_as(name, "`true` or `false`", |value| value.as_bool())
    }

    /// Takes one of several words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let written = self.text(name)?;
        let found = choices.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.wrong(name, format!("is `{written}`; there are: {}", words.join(", ")));
        }
        found.map(|(_, choice)| *choice)
    }

    /// Takes a number of at least one.
    pub(crate) fn count(&mut self, name: &'static str) -> Option<NonZeroU64> {
        self.take_as(name, "a whole number of at least 1", |value| NonZeroU64::new(value.as_u64()?))
    }

    /// Takes a whole number.
    pub(crate) fn whole(&mut self, name: &'static str) -> Option<u64> {
        self.take_as(name, "a whole number", |value| value.as_u64())
    }

    /// Takes seconds.
    pub(crate) fn seconds(&mut self, name: &'static str) -> Option<NonZeroU64> {
        let what = format!("a whole number of seconds, from 1 to {YEAR_SECONDS}");
        self.take_as(name, &what, |value| {
            NonZeroU64::new(value.as_u64().filter(|seconds| *seconds <= YEAR_SECONDS)?)
        })
    }

    /// Takes a number in a range.
    pub(crate) fn within(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
    ) -> Option<Number> {
        let what = format!("a number from {} to {}", range.start(), range.end());
        self.take_as(name, &what, |value| match value {
            Value::Number(number) if number.as_f64().is_some_and(|it| range.contains(&it)) => {
                Some(number)
            }
            _ => None,
        })
    }

    /// Takes a list of texts.
    pub(crate) fn list(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.take_as(name, "a list of texts", texts)
    }

    /// Takes a list of texts, or one alone.
    pub(crate) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.take_as(name, "text or a list of texts", |value| match value {
            Value::String(text) => Some(vec![text]),
            value => texts(value),
        })
    }

    /// Takes names with texts. None of the texts gets into what is wrong.
    #[cfg(feature = "mcp")]
    pub(crate) fn pairs(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let pairs = self.take_as(name, "a table of texts", |value| match value {
            Value::Object(pairs) => {
                pairs.into_iter().map(|(name, value)| Some((name, text(value)?))).collect()
            }
            _ => None,
        });
        pairs.unwrap_or_default()
    }

    /// Takes a table. What it leaves behind is to be [taken back](Self::end_table).
    pub(crate) fn table(&mut self, name: &'static str) -> Option<Self> {
        let values = self.take_as(name, "a table", table)?;
        Some(self.inner(name, values))
    }

    /// Takes a table, which is empty if there is none, so that its fields are known all the same.
    pub(crate) fn section(&mut self, name: &'static str) -> Self {
        self.table(name).unwrap_or_else(|| self.inner(name, Map::new()))
    }

    /// Takes a list of tables. What they leave behind is to be [taken back](Self::end_table).
    #[cfg(feature = "mcp")]
    pub(crate) fn tables(&mut self, name: &'static str) -> Vec<Self> {
        let tables = self.take_as(name, "a list of tables", |value| match value {
            Value::Array(items) => items.into_iter().map(table).collect::<Option<Vec<_>>>(),
            _ => None,
        });
        let tables = tables.into_iter().flatten().enumerate();
        tables.map(|(index, values)| self.inner(&format!("{name}[{index}]"), values)).collect()
    }

    fn inner(&self, name: &str, values: Map<String, Value>) -> Self {
        let section = format!("{}{name}.", self.section);
        Self { section, ..Self::new(self.file, values, self.lines.clone()) }
    }

    /// Takes back a table, of which all that is known was taken.
    pub(crate) fn end_table(&mut self, mut table: Fields<'_>) {
        table.sort_out(Severity::Error);
        self.known.append(&mut table.known);
        self.problems.append(&mut table.problems);
    }

    /// Says that a field is wrong, so that there can be no agent.
    pub(crate) fn wrong(&mut self, name: &str, why: impl Display) {
        self.say(Severity::Error, name, why, None);
    }

    /// Says that a field is wrong, and what would be right.
    pub(crate) fn refuse(&mut self, name: &str, why: impl Display, hint: &str) {
        self.say(Severity::Error, name, why, Some(hint));
    }

    /// Says that a field cannot be honoured, and why or what would be instead.
    pub(crate) fn drop(&mut self, name: &str, why: impl Display, hint: Option<&str>) {
        self.say(Severity::Dropped, name, why, hint);
    }

    /// Says that a field is odd.
    pub(crate) fn warn(&mut self, name: &str, why: impl Display, hint: Option<&str>) {
        self.say(Severity::Warning, name, why, hint);
    }

    /// Says that an item of a list is wrong.
    pub(crate) fn wrong_item(&mut self, name: &str, item: &str, why: impl Display) {
        let line = self.lines.get(&format!("{}{name}[{item}]", self.section)).copied();
        self.wrong(name, why);
        if let (Some(line), Some(problem)) = (line, self.problems.last_mut()) {
            problem.line = Some(line);
        }
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
        self.sort_out(unknown);
        self.problems
    }

    fn sort_out(&mut self, unknown: Severity) {
        for (name, _) in self.rest() {
            let whole = format!("{}{name}", self.section);
            let meant = close(&whole, self.known.iter().map(String::as_str));
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            self.say(unknown, &name, "is not known", hint.as_deref());
        }
    }
}

/// Reports whether two names are one but for case, `-`, `_` or an `s` at the end.
pub(crate) fn is_like(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let (one, other) = (plain(one), plain(other));
    one.strip_suffix('s').unwrap_or(&one) == other.strip_suffix('s').unwrap_or(&other)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn texts(value: Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.into_iter().map(text).collect(),
        _ => None,
    }
}

fn table(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(values) => Some(values),
        _ => None,
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
        DeValue::Array(items) => {
            let item = |(index, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                let whole = match item.get_ref() {
                    DeValue::String(text) => format!("{name}[{text}]"),
                    _ => format!("{name}[{index}]"),
                };
                at(whole.clone(), item.span().start);
                json(item.get_ref(), &whole, at)
            };
            items.iter().enumerate().map(item).collect()
        }
        DeValue::Table(table) => Value::Object(object(table, &format!("{name}."), at)),
    }
}
