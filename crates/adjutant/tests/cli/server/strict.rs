//! What the checks of all formats have in common.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Asked, Format, KEY};

/// Whether a request is as its provider wants it, and if not, why.
pub(crate) type Verdict<T = ()> = Result<T, String>;

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}
pub(crate) use ensure;

/// Checks a request to the last header.
pub(crate) fn check(format: &dyn Format, asked: &Asked, said: &[Vec<Value>]) -> Verdict {
    let (line, headers) = asked.headers.split_first().ok_or("there is no request")?;
    let wanted = format!("POST {} HTTP/1.1", format.path());
    ensure!(*line == wanted, "{line} is not {wanted}");
    for wanted in [&["content-type: application/json".to_owned()], &*format.headers()].concat() {
        let name = wanted.split(": ").next().unwrap_or_default();
        let given = headers.iter().filter(|header| header.split(": ").next() == Some(name));
        ensure!(given.eq([&wanted]), "the header is not {wanted}: {headers:?}");
    }
    let keys = headers.iter().filter(|header| header.contains(KEY)).count();
    ensure!(keys == 1, "{keys} headers have the key");
    ensure!(!asked.raw.contains(KEY), "the body has the key");
    format.check(&asked.body, said)
}

/// Checks that an object has all of the first fields and no others but the second.
pub(crate) fn fields(object: &Value, required: &[&str], optional: &[&str]) -> Verdict {
    let names = object.as_object().map(|fields| fields.keys().map(String::as_str));
    let mut names = names.ok_or_else(|| format!("{object} is no object"))?;
    for name in required {
        ensure!(!object[name].is_null(), "`{name}` is missing: {object}");
    }
    let unknown = names.find(|name| !required.contains(name) && !optional.contains(name));
    ensure!(unknown.is_none(), "{unknown:?} is not permitted: {object}");
    Ok(())
}

/// Checks that an object, if there is one, has no other fields than these.
pub(crate) fn at_most(object: &Value, optional: &[&str]) -> Verdict {
    if object.is_null() { Ok(()) } else { fields(object, &[], optional) }
}

/// Returns the elements of a list that has some.
pub(crate) fn list(value: &Value) -> Verdict<&[Value]> {
    let list = value.as_array().filter(|list| !list.is_empty());
    Ok(list.ok_or_else(|| format!("not a list with something in it: {value}"))?)
}

/// Returns a text that says something.
pub(crate) fn text(value: &Value) -> Verdict<&str> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("a text is empty: {value}"))
}

/// Checks a number of tokens.
pub(crate) fn at_least(least: u64, value: &Value) -> Verdict {
    ensure!(value.as_u64().is_some_and(|it| it >= least), "{value} is not at least {least}");
    Ok(())
}

/// Checks the tools of a request, each of them in the form `(name, schema)`.
pub(crate) fn tools<'a>(tools: impl Iterator<Item = (&'a Value, &'a Value)>) -> Verdict {
    let mut names = BTreeSet::new();
    for (name, schema) in tools {
        let name = text(name)?;
        ensure!(is_plain(name), "{name} is no name of a tool");
        ensure!(names.insert(name), "two tools are called {name}");
        ensure!(schema["type"] == "object", "the arguments of {name} are no object: {schema}");
    }
    Ok(())
}

/// Reports whether a name or an id is short and of plain letters.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

/// The calls of a conversation, and which of them have no result yet.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    all: BTreeSet<&'a str>,
    open: BTreeSet<&'a str>,
}

impl<'a> Calls<'a> {
    pub(crate) fn open(&mut self, id: &'a Value) -> Verdict {
        let id = text(id)?;
        ensure!(is_plain(id), "{id} is no id");
        ensure!(self.all.insert(id), "two calls are called {id}");
        self.open.insert(id);
        Ok(())
    }

    pub(crate) fn close(&mut self, id: &Value) -> Verdict {
        let is_open = id.as_str().is_some_and(|id| self.open.remove(id));
        ensure!(is_open, "a result for {id}, which nobody called or which has one");
        Ok(())
    }

    pub(crate) fn ensure_closed(&self) -> Verdict {
        ensure!(self.open.is_empty(), "calls without results: {:?}", self.open);
        Ok(())
    }
}

/// Checks that the model's words are what the model said.
pub(crate) fn verbatim(given: &[Value], said: &[Vec<Value>]) -> Verdict {
    ensure!(said.iter().any(|said| said == given), "not what the model said: {given:?}");
    Ok(())
}

/// Checks that roles take turns, beginning and ending with the user.
pub(crate) fn alternate(messages: &[Value], model: &str) -> Verdict {
    for (place, message) in messages.iter().enumerate() {
        let wanted = if place % 2 == 0 { "user" } else { model };
        ensure!(message["role"] == wanted, "message {place} is not the {wanted}'s: {message}");
    }
    ensure!(messages.len() % 2 == 1, "the user has not the last word");
    Ok(())
}
