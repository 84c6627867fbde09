//! What differs from run to run, and what stands for it.
//!
//! | in a conversation | in a cassette |
//! |---|---|
//! | the id of an agent, or any other UUID | `{id:1}`, numbered as they come up |
//! | the name made of an id | `sub-agent-{name}` |
//! | how long something took, or how far an agent at work had come | `{time}` |
//! | the working directory | `{cwd}` |
//! | such a mark itself | the mark with one more `{` |
//!
//! What a person said stays as it is. What a model said stays as it is too, but for the
//! directory and the ids it had been told: these are marked, and the reply is played with
//! those of the new run in their place.

use std::path::Path;

use adjutant_core::{Message, Origin, Part, ToolCall, ToolResult};
use serde_json::Value;

use super::redact::Redactor;

/// What is true of a whole run.
pub(super) struct Normal {
    directory: String,
    redactor: Redactor,
}

/// The ids of one conversation, in the order in which they came up.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids(Vec<String>);

/// Which marks a text gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// The directory and the ids that came up before.
    Known,
    /// Ids that are new besides.
    Ids,
    /// Times and names besides.
    Times,
}

impl Normal {
    pub(super) fn new(directory: &Path, redactor: Redactor) -> Self {
        Self { directory: directory.display().to_string(), redactor }
    }

    /// Returns a message as it would be in any run, without what no model sees.
    pub(super) fn message(&self, ids: &mut Ids, message: &Message) -> Message {
        match message {
            Message::User { origin, parts } => {
                let mut mark = |text: &str| match origin {
                    Origin::Person => self.redact(text),
                    Origin::Parent | Origin::Agent { .. } => self.mark(text, ids, Marks::Ids),
                    Origin::Runtime { .. } => self.mark(text, ids, Marks::Times),
                };
                Message::User { origin: origin.clone(), parts: each(parts, &mut mark) }
            }
            Message::Assistant { parts } => Message::Assistant { parts: self.said(ids, parts) },
            Message::Tools { results } => {
                let result = |result: &ToolResult| ToolResult {
                    call: result.call.clone(),
                    text: self.mark(&result.text, ids, Marks::Times),
                    images: result.images.clone(),
                    failed: result.failed,
                    facts: Vec::new(),
                };
                Message::Tools { results: results.iter().map(result).collect() }
            }
        }
    }

    /// Returns what a model said as it would be in any run.
    pub(super) fn said(&self, ids: &Ids, parts: &[Part]) -> Vec<Part> {
        each(parts, &mut |text| self.words(ids, text))
    }

    /// Returns a model's words, or a system prompt, as they would be in any run.
    pub(super) fn words(&self, ids: &Ids, text: &str) -> String {
        self.mark(text, &mut ids.clone(), Marks::Known)
    }

    /// Returns what a model said in the run at hand.
    pub(super) fn restored(&self, ids: &Ids, parts: &[Part]) -> Vec<Part> {
        each(parts, &mut |text| self.restore(ids, text))
    }

    /// Returns JSON without keys, and otherwise as it is.
    pub(super) fn value(&self, value: &Value) -> Value {
        let mut value = value.clone();
        each_text(&mut value, &mut |text| self.redact(text));
        value
    }

    /// Returns a text without keys, and otherwise as it is.
    pub(super) fn redact(&self, text: &str) -> String {
        self.redactor.redact(text)
    }

    /// Puts ids and the directory of the run at hand in the place of their marks.
    pub(super) fn restore(&self, ids: &Ids, text: &str) -> String {
        let mut restored = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            restored.push_str(&rest[..start]);
            let braces = Braces::at(&rest[start..]);
            let (mark, after) = rest[start..].split_at(braces.length());
            restored.push_str(match braces {
                Braces { depth: 1, mark: Some(mark) } => ids.meaning(mark, &self.directory),
                Braces { mark: Some(_), .. } => &mark[1..],
                Braces { mark: None, .. } => mark,
            });
            rest = after;
        }
        restored + rest
    }

    fn mark(&self, text: &str, ids: &mut Ids, marks: Marks) -> String {
        let text = self.redact(text);
        let mut marked = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let (before, rest) = text.split_at(at);
            let found = match next {
                '{' => {
                    let braces = Braces::at(rest);
                    let more = if braces.mark.is_some() { "{" } else { "" };
                    Some((format!("{more}{}", &rest[..braces.length()]), braces.length()))
                }
                _ if is_word(before.chars().next_back()) && next != '/' => None,
                '/' => self.directory(before, rest).map(|length| ("{cwd}".to_owned(), length)),
                '"' => so_far(before, rest, marks),
                _ => ids.mark(rest, marks).or_else(|| time(before, rest, marks)),
            };
            if let Some((mark, length)) = found {
                marked.push_str(&mark);
                at += length;
            } else {
                marked.push(next);
                at += next.len_utf8();
            }
        }
        marked
    }

    /// Finds the directory at the beginning of a text, and not one whose name only begins
    /// like its.
    fn directory(&self, before: &str, text: &str) -> Option<usize> {
        let is_name = |c: char| is_word(Some(c)) || c == '-';
        let after = text.strip_prefix(&self.directory).filter(|_| self.directory.len() > 1)?;
        // A full stop ends a sentence or goes on with a name.
        let is_longer = after.trim_start_matches('.').starts_with(is_name);
        let is_inside = before.ends_with(|c| is_name(c) || c == '.' || c == '/');
        (!is_longer && !is_inside).then_some(self.directory.len())
    }
}

impl Ids {
    const LENGTH: usize = 36;

    /// Finds an id, or a name made of one, at the beginning of a text.
    fn mark(&mut self, text: &str, marks: Marks) -> Option<(String, usize)> {
        if let Some(name) = text.strip_prefix("sub-agent-").filter(|_| marks != Marks::Known) {
            let is_name = name.len() >= 12 && is_hex(&name.as_bytes()[..12]);
            return is_name.then(|| ("sub-agent-{name}".to_owned(), 22));
        }
        let id = text.get(..Self::LENGTH).filter(|id| is_id(id))?;
        if is_word(text[Self::LENGTH..].chars().next()) {
            return None;
        }
        let place = match self.0.iter().position(|known| known == id) {
            Some(place) => place,
            None if marks == Marks::Known => return None,
            None => {
                self.0.push(id.to_owned());
                self.0.len() - 1
            }
        };
        Some((format!("{{id:{}}}", place + 1), Self::LENGTH))
    }

    /// Returns what a mark stands for. One that stands for nothing is its own meaning.
    fn meaning<'a>(&'a self, mark: &'a str, directory: &'a str) -> &'a str {
        let number = mark.strip_prefix("{id:").and_then(|mark| mark.strip_suffix('}'));
        let number = number.and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| self.0.get(number.checked_sub(1)?)) {
            Some(id) => id,
            None if mark == "{cwd}" => directory,
            None => mark,
        }
    }
}

/// Some `{`, and the mark that the last of them begins, if it does.
struct Braces<'a> {
    depth: usize,
    mark: Option<&'a str>,
}

impl<'a> Braces<'a> {
    /// Reads those at the beginning of a text.
    fn at(text: &'a str) -> Self {
        let depth = text.len() - text.trim_start_matches('{').len();
        let last = &text[depth - 1..];
        let end = last.find('}').map(|end| end + 1);
        let is_mark = |mark: &&str| match mark.strip_prefix("{id:") {
            Some(number) => number.len() > 1 && digits(number) == number.len() - 1,
            None => ["{cwd}", "{time}", "{name}"].contains(mark),
        };
        Self { depth, mark: end.map(|end| &last[..end]).filter(is_mark) }
    }

    fn length(&self) -> usize {
        self.depth - 1 + self.mark.map_or(1, str::len)
    }
}

/// Finds how far an agent at work had come in what it says, which depends on the time.
fn so_far(before: &str, text: &str, marks: Marks) -> Option<(String, usize)> {
    if marks != Marks::Times || !before.ends_with("\"so_far\":") {
        return None;
    }
    let mut words = serde_json::Deserializer::from_str(text).into_iter::<String>();
    words.next()?.ok()?;
    Some(("{time}".to_owned(), words.byte_offset()))
}

/// Finds how long something took at the beginning of a text.
fn time(before: &str, text: &str, marks: Marks) -> Option<(String, usize)> {
    let whole = digits(text);
    if marks != Marks::Times || whole == 0 || before.ends_with('.') {
        return None;
    }
    let is_millis = before.trim_end().ends_with("_ms\":") || is_clamp(before);
    let length = if is_millis { Some(whole) } else { with_unit(text, whole) };
    length.map(|length| ("{time}".to_owned(), length))
}

/// Reports whether a text ends like `milliseconds 5000 was cut to `.
fn is_clamp(text: &str) -> bool {
    let text = text.strip_suffix(" was cut to ");
    let text = text.map(|text| text.trim_end_matches(|c: char| c.is_ascii_digit()));
    text.is_some_and(|text| text.ends_with("milliseconds "))
}

/// Returns the length of a number with a unit of time that nothing follows.
fn with_unit(text: &str, whole: usize) -> Option<usize> {
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let number = if fraction > 0 { whole + 1 + fraction } else { whole };
    let unit = ["ms", "µs", "s", "m"].into_iter().find(|unit| text[number..].starts_with(unit))?;
    let length = number + unit.len();
    (!is_word(text[length..].chars().next())).then_some(length)
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}

fn is_id(text: &str) -> bool {
    let mut lengths = [8, 4, 4, 4, 12].into_iter();
    text.split('-').all(|group| lengths.next() == Some(group.len()) && is_hex(group.as_bytes()))
}

/// Makes other parts of parts, text by text.
fn each(parts: &[Part], change: &mut dyn FnMut(&str) -> String) -> Vec<Part> {
    let mut parts = parts.to_vec();
    for part in &mut parts {
        let native = match part {
            Part::Text { text, native } | Part::Reasoning { text, native } => {
                *text = change(text);
                native
            }
            Part::Call(ToolCall { arguments, native, .. }) => {
                each_text(arguments, change);
                native
            }
            Part::Image(_) => continue,
        };
        if let Some(native) = native {
            native.json = change(&native.json).into();
        }
    }
    parts
}

fn each_text(value: &mut Value, change: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|item| each_text(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
    const TWO: &str = "0190A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5c";

    fn normal() -> Normal {
        Normal::new(Path::new("/tmp/work"), Redactor::default())
    }

    /// Returns the text of a tool's result as it is kept.
    fn result(ids: &mut Ids, text: &str) -> String {
        let result = ToolResult { failed: false, ..ToolResult::failure("c1".into(), text) };
        let message = Message::Tools { results: vec![result] };
        let Message::Tools { results } = normal().message(ids, &message) else { panic!() };
        results[0].text.clone()
    }

    #[test]
    fn ids_are_numbered_as_they_come_up() {
        let ids = &mut Ids::default();
        assert_eq!(result(ids, &format!("({TWO}) {ONE}, {TWO}")), "({id:1}) {id:2}, {id:1}");
        assert_eq!(result(ids, ONE), "{id:2}");
        for other in [format!("x{ONE}"), format!("{ONE}0"), ONE.replacen('-', "", 1)] {
            assert_eq!(result(ids, &other), other);
        }
        assert_eq!(result(ids, "sub-agent-0190a1b2c3d4."), "sub-agent-{name}.");
        assert_eq!(result(ids, "sub-agent-of-somebody"), "sub-agent-of-somebody");
    }

    #[test]
    fn times_that_stand_alone_are_marked() {
        let ids = &mut Ids::default();
        for time in ["0.0s", "12.5s", "350ms", "3m", "80µs", "1.234567ms"] {
            assert_eq!(result(ids, &format!("[took {time}; {time}]")), "[took {time}; {time}]");
        }
        assert_eq!(result(ids, r#"{"duration_ms":17,"n":17}"#), r#"{"duration_ms":{time},"n":17}"#);
        let words = r#"{"so_far":"5s \"and\" more","is_final":false}"#;
        assert_eq!(result(ids, words), r#"{"so_far":{time},"is_final":false}"#);
        let clamp = "milliseconds 9 was cut to 8; tokens 9 was cut to 8";
        let marked = "milliseconds 9 was cut to {time}; tokens 9 was cut to 8";
        assert_eq!(result(ids, clamp), marked);
        for other in ["5 s", "v1.5s", "5sec", "1.2.3s", "x5s", "5s_", "5", "s"] {
            assert_eq!(result(ids, other), other);
        }
    }

    #[test]
    fn the_directory_is_marked_and_others_are_not() {
        let ids = &mut Ids::default();
        let text = "in /tmp/work: `/tmp/work/a`, /tmp/work.";
        assert_eq!(result(ids, text), "in {cwd}: `{cwd}/a`, {cwd}.");
        for other in ["/tmp/works", "/tmp/work-2", "/tmp/work.bak", "/private/tmp/work", "/tmp"] {
            assert_eq!(result(ids, other), other);
        }
        let top = Normal::new(Path::new("/"), Redactor::default());
        assert_eq!(top.words(&Ids::default(), "/tmp"), "/tmp");
    }

    #[test]
    fn who_speaks_decides_what_is_marked() {
        let text = format!("{ONE} took 5s in /tmp/work");
        let said =
            |ids: &mut Ids, origin| normal().message(ids, &Message::user(origin, &text)).text();
        let runtime = Origin::Runtime { ended: Vec::new() };
        let ids = &mut Ids::default();
        assert_eq!(said(ids, Origin::Person), text);
        assert_eq!(normal().words(ids, &text), format!("{ONE} took 5s in {{cwd}}"));
        assert_eq!(said(ids, Origin::Parent), "{id:1} took 5s in {cwd}");
        assert_eq!(said(ids, runtime), "{id:1} took {time} in {cwd}");
        assert_eq!(normal().words(ids, &text), "{id:1} took 5s in {cwd}");
    }

    #[test]
    fn a_reply_gets_the_ids_and_the_directory_of_the_new_run() {
        let (mut old, mut new) = (Ids::default(), Ids::default());
        result(&mut old, ONE);
        result(&mut new, TWO);
        let call = ToolCall {
            id: "c1".into(),
            name: "agent_status".to_owned(),
            arguments: json!({ "agent_id": ONE, "also": [format!("/tmp/work/{ONE}"), 1] }),
            native: Some(adjutant_core::Native { origin: "x".into(), json: ONE.into() }),
        };
        let said = [Part::text(format!("I ask {ONE}.")), Part::Call(call)];
        let kept = normal().said(&old, &said);
        let json = serde_json::to_string(&kept).unwrap();
        assert!(!json.contains(ONE) && !json.contains("/tmp/work"), "{json}");
        assert_eq!(normal().restored(&old, &kept), said);
        let there = Normal::new(Path::new("/home"), Redactor::default());
        let [_, Part::Call(call)] = &there.restored(&new, &kept)[..] else { panic!() };
        assert_eq!(call.arguments, json!({ "agent_id": TWO, "also": [format!("/home/{TWO}"), 1] }));
        assert_eq!(&*call.native.as_ref().unwrap().json, TWO);
    }

    #[test]
    fn what_looks_like_a_mark_survives() {
        let ids = &mut Ids::default();
        result(ids, ONE);
        for text in ["{id:1}", "{{id:1}", "{{{cwd}}", "{time} {name}", "{id:} {id:x} {", "{}{{}}"] {
            let kept = normal().words(ids, text);
            assert_eq!(normal().restore(ids, &kept), text, "{kept}");
        }
        assert_eq!(normal().words(ids, "{id:1} {id:x}"), "{{id:1} {id:x}");
    }
}
