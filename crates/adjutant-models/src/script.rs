//! What a scripted model says, built in Rust or read from a file.
//!
//! ```toml
//! name = "audit"            # in messages; else the path of the file
//! window = 100_000          # tokens of a conversation
//! max_output = 4_096        # tokens of an answer
//! price = { input = 3_000_000, output = 15_000_000 } # micro-dollars a million tokens
//! unused = "fail"           # or "warn": what a reply nobody got means
//!
//! [[reply]]
//! agent = "root"
//! calls = [{ tool = "sub_agent", args = { prompt = "read auth.rs" } }]
//!
//! [[reply]]
//! task = "auth.rs"
//! text = "It checks tokens."
//!
//! [[reply]]
//! agent = "root"
//! text = "Done."
//! ```
//!
//! An agent gets the first reply, in the order of the file, that fits and that it has
//! not used up. Uses are counted for each agent by itself, so what an agent gets does
//! not depend on when the others ask. They are counted from zero when a session is
//! resumed, so the replies of a script that outlives its process should name their `turn`.

use std::{fmt, fs, ops::Range, path::Path};

use adjutant_core::Price;
use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use crate::{check::check, pattern::Pattern};

pub use crate::reply::{Call, Reply, call};

/// The replies of a model, and what is known of the model.
///
/// ```
/// use adjutant_models::script::{Reply, Script, call};
/// use serde_json::json;
///
/// Script::new()
///     .on("root", [
///         Reply::calls([call("c1", "sub_agent", json!({"prompt": "read auth.rs"}))]),
///         Reply::text("Done."),
///     ])
///     .on_task("auth.rs", [Reply::text("It checks tokens.")]);
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub(crate) name: Option<String>,
    pub(crate) window: u64,
    pub(crate) max_output: u64,
    pub(crate) price: Price,
    pub(crate) unused: Severity,
    #[serde(rename = "reply")]
    pub(crate) replies: Vec<Reply>,
    #[serde(skip)]
    pub(crate) recording: Recording,
}

/// What it means when a reply was not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is told.
    #[default]
    Warn,
    /// The run has failed.
    Fail,
}

/// Whether requests are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Recording {
    #[default]
    Off,
    On,
}

/// A script cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadScript {
    /// Which file.
    pub file: String,
    /// In which line of it, where that is known.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            name: None,
            window: 200_000,
            max_output: 8_192,
            price: Price::default(),
            unused: Severity::Warn,
            replies: Vec::new(),
            recording: Recording::Off,
        }
    }
}

impl Script {
    /// Makes a script without replies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds replies for the agents whose path fits a pattern, in which `*` stands for any
    /// characters. Each agent gets them one after the other.
    #[must_use]
    pub fn on(mut self, agent: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.replies.extend(replies.into_iter().map(|mut reply| {
            reply.agent = Pattern::new(agent);
            reply
        }));
        self
    }

    /// Adds replies for the agents whose first message contains a text.
    #[must_use]
    pub fn on_task(mut self, task: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.replies.extend(replies.into_iter().map(|mut reply| {
            reply.task = Some(task.to_owned());
            reply
        }));
        self
    }

    /// Says what the script is called in messages.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Says how many tokens a conversation may have.
    #[must_use]
    pub fn window(self, tokens: u64) -> Self {
        Self { window: tokens, ..self }
    }

    /// Says how many tokens are asked for in one answer at most.
    #[must_use]
    pub fn max_output(self, tokens: u64) -> Self {
        Self { max_output: tokens, ..self }
    }

    /// Says what an answer costs; without this it is free.
    #[must_use]
    pub fn price(self, price: Price) -> Self {
        Self { price, ..self }
    }

    /// Says what it means when a reply was not used; without this it is a warning.
    #[must_use]
    pub fn unused(self, severity: Severity) -> Self {
        Self { unused: severity, ..self }
    }

    /// Remembers the requests, for [`Scripted::requests`](crate::Scripted::requests).
    #[must_use]
    pub fn recording(self) -> Self {
        Self { recording: Recording::On, ..self }
    }

    /// Reads a script from a file: TOML or JSON, as its name says.
    pub fn read(path: &Path) -> Result<Self, BadScript> {
        let bad = |line, problem| BadScript { file: path.display().to_string(), line, problem };
        let parse = match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => from_toml,
            Some("json") => from_json,
            _ => return Err(bad(None, "expected a file named `….toml` or `….json`".to_owned())),
        };
        let text = fs::read_to_string(path)
            .map_err(|error| bad(None, format!("cannot be read: {error}")))?;
        parse(&text).map_err(|Fault { line, problem }| bad(line, problem))
    }

    /// Finds the first thing that is wrong, and in which reply.
    pub(crate) fn check(&self) -> Result<(), (Option<usize>, String)> {
        if self.replies.is_empty() {
            return Err((None, "there is no reply: expected at least one `[[reply]]`".to_owned()));
        }
        if self.window == 0 || self.max_output == 0 {
            let problem = "`window` and `max_output` are counts of tokens from 1 up";
            return Err((None, problem.to_owned()));
        }
        let mut replies = self.replies.iter().enumerate();
        replies.try_for_each(|(place, reply)| {
            check(reply).map_err(|problem| (Some(place), format!("reply {}: {problem}", place + 1)))
        })
    }
}

/// What is wrong with the text of a script.
struct Fault {
    line: Option<usize>,
    problem: String,
}

fn from_toml(text: &str) -> Result<Script, Fault> {
    let line_of = |span: Range<usize>| text[..span.start].matches('\n').count() + 1;
    let script: Script = toml::from_str(text).map_err(|error| Fault {
        line: error.span().map(line_of),
        problem: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    script.check().map_err(|(reply, problem)| {
        #[derive(Deserialize)]
        struct Places {
            reply: Vec<Spanned<IgnoredAny>>,
        }
        let places = toml::from_str::<Places>(text).ok();
        let span = reply.and_then(|place| Some(places?.reply.get(place)?.span()));
        Fault { line: span.map(line_of), problem }
    })?;
    Ok(script)
}

fn from_json(text: &str) -> Result<Script, Fault> {
    let script: Script = serde_json::from_str(text).map_err(|error| {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let problem = error.to_string().replace(&place, "");
        Fault { line: Some(error.line()), problem }
    })?;
    script.check().map_err(|(_, problem)| Fault { line: None, problem })?;
    Ok(script)
}

impl fmt::Display for BadScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}
