//! What stands before the text of a Markdown file, in YAML between two lines `---`.

use std::{collections::BTreeMap, fmt, path::Path};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{NonFiniteFloatPolicy, Spanned, options::AliasLimits};

use super::{
    fields::Fields,
    problem::{Problem, Severity},
};

/// What front matter stands between.
const FENCE: &str = "---";

/// How deep fields may be in each other.
const DEEPEST: usize = 32;
/// How much there may be in all, and how much of it may stand for more.
const MOST_NODES: usize = 20_000;
const MOST_ALIASES: usize = 100;

/// What a value begins with that is more than one line of words.
const MARKS: [char; 7] = ['[', '{', '*', '&', '!', '|', '>'];

/// Reads the fields before a text, and returns the text too. Without them there are no fields.
pub(crate) fn read<'a>(file: &'a Path, text: &'a str) -> Result<(Fields<'a>, &'a str), Problem> {
    let wrong = |line, why: String| Problem::of(Severity::Error, file, why).at(Some(line));
    let Some((yaml, body)) = split(text).map_err(|why| wrong(1, why.to_owned()))? else {
        return Ok((Fields::new(file, Map::new(), BTreeMap::new()), text));
    };
    // The line of the fence, so that lines are those of the file.
    let yaml = format!("\n{yaml}");
    let (node, mended) = parse(&yaml)
        .map_or_else(|error| mend(&yaml, error), |it| Ok((it, vec![])))
        .map_err(|error| {
            let line = error.location().map_or(1, |at| at.line() as usize);
            let error = error.without_snippet();
            if let serde_saphyr::Error::DuplicateMappingKey { key, .. } = error {
                let key = key.as_deref().unwrap_or_default().escape_debug();
                return wrong(line, format!("`{key}` is there twice"))
                    .hint("leave one of them out");
            }
            let why = error.to_string();
            wrong(line, format!("is not YAML: {}", why.lines().next().unwrap_or_default()))
                .hint("text with `: ` or ` #` in it belongs into quotes, and tabs indent nothing")
        })?;
    let mut lines = BTreeMap::new();
    let values = match node.unwrap_or(Node::Plain(Value::Null)) {
        Node::Plain(Value::Null) => Map::new(),
        Node::Map(entries) => object(entries, "", &mut lines),
        Node::Plain(_) | Node::List(_) => {
            return Err(wrong(2, "what stands before the text has to be fields".to_owned()));
        }
    };
    let mut fields = Fields::new(file, values, lines);
    for name in mended {
        let why = "is not YAML, and was read as words up to the end of its line";
        fields.warn(&name, why, Some("put it into quotes"));
    }
    Ok((fields, body))
}

/// Reads the fields of a file that has to have some.
pub(crate) fn expect<'a>(file: &'a Path, text: &'a str) -> Result<(Fields<'a>, &'a str), Problem> {
    let wrong = |why: &str| Err(Problem::of(Severity::Error, file, why).at(Some(1)));
    match split(text) {
        _ if text.trim().is_empty() => wrong("is empty"),
        Ok(None) => match misplaced(text) {
            Some(line) => Err(late(file, line)),
            None => wrong("has no fields: `---` has to be its first line, and another end them"),
        },
        Ok(Some(_)) | Err(_) => read(file, text),
    }
}

/// Reads the fields of a file that may be text alone.
pub(crate) fn allow<'a>(file: &'a Path, text: &'a str) -> Result<(Fields<'a>, &'a str), Problem> {
    misplaced(text).map_or_else(|| read(file, text), |line| Err(late(file, line)))
}

fn late(file: &Path, line: usize) -> Problem {
    let why = "the `---` before the fields has to be the first line of the file";
    Problem::of(Severity::Error, file, why).at(Some(line)).hint("remove what stands above it")
}

/// Returns the line of a fence that has nothing but blank lines above it.
fn misplaced(text: &str) -> Option<usize> {
    let place = text.lines().position(|line| !line.trim().is_empty())?;
    let is_fence = text.lines().nth(place)?.trim() == FENCE;
    (is_fence && !text.starts_with(FENCE)).then_some(place + 1)
}

/// Splits a text into what stands before it and the rest.
fn split(text: &str) -> Result<Option<(&str, &str)>, &'static str> {
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|first| is_fence(first)) else { return Ok(None) };
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return Ok(Some((&text[first.len()..end], &text[end + line.len()..])));
        }
        end += line.len();
    }
    Err("begins with `---`, and there is no second one to end the fields")
}

fn parse(yaml: &str) -> Result<Option<Node>, serde_saphyr::Error> {
    let mut alias_limits = AliasLimits::default();
    alias_limits.max_total_replayed_events = MOST_NODES;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_nodes: MOST_NODES,
            max_aliases: MOST_ALIASES,
        },
        alias_limits: alias_limits,
        // `on` and `no` are words.
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options)
}

/// Puts into quotes what is words up to the end of a line and no YAML, as people write it after
/// `description: `, and returns which fields that was.
fn mend(
    yaml: &str,
    error: serde_saphyr::Error,
) -> Result<(Option<Node>, Vec<String>), serde_saphyr::Error> {
    let (mut whole, mut mended) = (String::new(), Vec::new());
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let is_alone = !lines.peek().is_some_and(|next| next.starts_with([' ', '\t']));
        match words(line).filter(|_| is_alone && parse(line).is_err()) {
            Some((name, words)) => {
                whole += &format!("{name}: {}", Value::from(words));
                mended.push(name.to_owned());
            }
            None => whole += line,
        }
        whole.push('\n');
    }
    if mended.is_empty() {
        return Err(error);
    }
    Ok((parse(&whole)?, mended))
}

/// Returns the name of a field and the words in its line.
fn words(line: &str) -> Option<(&str, &str)> {
    let (name, words) = line.split_once(": ")?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let words = words.trim();
    (is_name && !words.is_empty() && !words.starts_with(MARKS)).then_some((name, words))
}

/// Something in YAML.
enum Node {
    Plain(Value),
    List(Vec<Self>),
    Map(Vec<(Spanned<String>, Self)>),
}

/// Returns fields as JSON, and notes in which lines they are.
fn object(
    entries: Vec<(Spanned<String>, Node)>,
    section: &str,
    lines: &mut BTreeMap<String, usize>,
) -> Map<String, Value> {
    let mut object = Map::new();
    for (Spanned { value: name, referenced, .. }, node) in entries {
        let whole = format!("{section}{name}");
        lines.insert(whole.clone(), referenced.line() as usize);
        object.insert(name, json(node, &whole, lines));
    }
    object
}

fn json(node: Node, name: &str, lines: &mut BTreeMap<String, usize>) -> Value {
    match node {
        Node::Plain(value) => value,
        Node::List(items) => items.into_iter().map(|item| json(item, name, lines)).collect(),
        Node::Map(entries) => Value::Object(object(entries, &format!("{name}."), lines)),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, `true`, `false`, a list or fields")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        // What JSON has no number for is text, and no number.
        let number = Number::from_f64(value).map(Value::Number);
        Ok(Node::Plain(number.unwrap_or_else(|| value.to_string().into())))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Plain(value.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Plain(Value::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(text: &str) -> String {
        read(Path::new("a.md"), text).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn fields_are_found_with_their_lines() {
        let text = "---\nname: a\n\ntools:\n  Read: true\n  Bash:\n    git *: ask\nlist: [b, 2]\n---\nbody\n---\n";
        let (mut fields, body) = read(Path::new("a.md"), text).unwrap();
        assert_eq!(body, "body\n---\n");
        let lines = fields.lines();
        let at = |name: &str| lines.get(name).copied();
        assert_eq!((at("name"), at("tools"), at("tools.Read")), (Some(2), Some(4), Some(5)));
        assert_eq!((at("tools.Bash.git *"), at("list")), (Some(7), Some(8)));
        assert_eq!(fields.take("tools"), Some(json!({"Read": true, "Bash": {"git *": "ask"}})));
        assert_eq!(fields.take("list"), Some(json!(["b", 2])));
    }

    #[test]
    fn a_text_alone_has_no_fields() {
        for text in ["", "body", "\n---\na: b\n---\n", "----\n", "---\n---\nbody", "---\n\n---\n"] {
            let (fields, body) = read(Path::new("a.md"), text).unwrap();
            assert!(fields.lines().is_empty(), "{text}");
            assert!(text.ends_with(body));
        }
        assert_eq!(read(Path::new("a.md"), "---\n---\nbody").unwrap().1, "body");
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        assert_eq!(
            problem("---\nname: a\n"),
            "a.md:1: error: begins with `---`, and there is no second one to end the fields"
        );
        assert!(problem("---\nname: a\nb: *c\n---\n").starts_with("a.md:3: error: is not YAML: "));
        assert_eq!(problem("---\nname: a\nname: b\n---\n"), "a.md:3: error: `name` is there twice");
        assert!(problem("---\na:\n\tb: c\n---\n").starts_with("a.md:3: error: is not YAML: "));
        assert!(problem("---\nb: c: d\n  e\n---\n").starts_with("a.md:2: error: is not YAML: "));
        assert!(problem("---\n- a\n---\n").contains("has to be fields"));
        assert!(problem("---\nwords\n---\n").contains("has to be fields"));
    }
}
