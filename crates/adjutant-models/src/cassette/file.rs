//! A cassette as a file.
//!
//! ```json
//! {
//!   "cassette": 1,
//!   "models": {"rehearsal": {"model": {"name": "rehearsal/survey", …}}},
//!   "systems": ["You are a careful engineer …"],
//!   "tools": [[{"name": "list_dir", "parameters": {…}}, …]],
//!   "agents": [
//!     {
//!       "agent": "root",
//!       "model": "rehearsal/survey",
//!       "system": 1,
//!       "tools": 1,
//!       "exchanges": [{"turn": 1, "heard": […], "said": […], "usage": {…}, "end": "calls"}, …]
//!     },
//!     …
//! ```
//!
//! Each exchange has what is new since the agent's one before. System prompts and lists of
//! tools are kept once and named by their number.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use adjutant_core::{
    AgentPath, Message, Part, Price, StopReason, ToolChoice, ToolSpec, Trouble, Usage,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::{fold::Folded, layout::lay_out, normal::Normal};

/// The only version there is.
const VERSION: u64 = 1;

/// Every exchange of a tree of agents with its models.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    #[serde(deserialize_with = "version")]
    cassette: u64,
    /// By the name they were asked for.
    pub(super) models: BTreeMap<String, Found>,
    pub(super) systems: Vec<Folded<String>>,
    pub(super) tools: Vec<Vec<Offer>>,
    pub(super) agents: Vec<Stretch>,
    /// Whose step came when, if agents worked in the background: how many of whose came
    /// one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) order: Vec<(AgentPath, u64)>,
}

/// What was found under a name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Found {
    Model(Info),
    Failed(Failure),
}

/// What was known of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Info {
    pub(super) name: String,
    pub(super) provider: String,
    pub(super) window: u64,
    pub(super) max_output: u64,
    pub(super) price: Option<Price>,
}

/// A tool a model could call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Offer {
    pub(super) name: String,
    /// The schema of its arguments, without words for people and models.
    pub(super) parameters: Value,
}

/// Exchanges of an agent that have much in common.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stretch {
    pub(super) agent: AgentPath,
    pub(super) model: String,
    /// The number of the system prompt; the first has 1.
    pub(super) system: usize,
    /// The number of the list of tools; the first has 1.
    pub(super) tools: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Value>,
    pub(super) exchanges: Vec<Exchange>,
}

/// A request and its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    pub(super) turn: u64,
    #[serde(default, skip_serializing_if = "Choice::is_free")]
    pub(super) calls: Choice,
    /// Whether `heard` is the whole conversation, of which the beginning has changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) anew: bool,
    /// The messages that are new, the last reply aside.
    pub(super) heard: Vec<Folded<Message>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) said: Vec<Folded<Part>>,
    /// What was seen of an answer that was not completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shown: Option<Folded<String>>,
    /// What was seen of the reasoning before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) thought: Option<Folded<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Usage>,
    pub(super) end: End,
}

/// Whether tools could be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Choice {
    #[default]
    Free,
    None,
}

/// How an exchange ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// The model had said what it wanted to say.
    Done,
    /// It wanted tools to be run.
    Calls,
    /// The limit on the answer's length was reached.
    Length,
    /// The provider would not let it go on.
    Filtered,
    /// The answer ended before it was complete.
    BrokenOff,
    /// Whoever asked heard enough, and the tree went on.
    Cut,
    /// The run ended here.
    Stopped,
    /// It failed.
    Failed(Failure),
}

/// How an exchange failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    pub(super) trouble: Trouble,
    pub(super) message: Folded<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after_ms: Option<u64>,
}

/// A file that is no cassette.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct BadCassette {
    /// Which file.
    pub file: String,
    /// In which line of it, where that is known.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Cassette {
    pub(super) fn new(models: BTreeMap<String, Found>) -> Self {
        Self {
            cassette: VERSION,
            models,
            systems: Vec::new(),
            tools: Vec::new(),
            agents: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Reads a cassette.
    pub fn read(path: &Path) -> Result<Self, BadCassette> {
        let bad = |line, problem| BadCassette { file: path.display().to_string(), line, problem };
        let text = fs::read_to_string(path)
            .map_err(|error| bad(None, format!("cannot be read: {error}")))?;
        let cassette: Self = serde_json::from_str(&text).map_err(|error| {
            let place = format!(" at line {} column {}", error.line(), error.column());
            bad(Some(error.line()), error.to_string().replace(&place, ""))
        })?;
        cassette.check().map_err(|(agent, problem)| {
            let place = format!("\"agent\": \"{agent}\"");
            let line = text.lines().position(|line| line.contains(&place));
            bad(line.map(|line| line + 1), problem)
        })?;
        Ok(cassette)
    }

    /// Checks, before anything depends on it, that a cassette could be written to a file.
    /// Leaves nothing behind.
    pub fn check_writable(path: &Path) -> io::Result<()> {
        let path = resolve(path);
        match fs::metadata(&path) {
            Ok(there) if !there.is_file() => return Err(io::Error::other("it is not a file")),
            Ok(_) => drop(fs::OpenOptions::new().append(true).open(&path)?),
            Err(_) => {}
        }
        NamedTempFile::new_in(directory(&path)).map(drop)
    }

    /// Writes the cassette for nobody but its owner to see. What is in its place stays
    /// there until all of it is written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let path = resolve(path);
        let mut file = NamedTempFile::new_in(directory(&path))?;
        file.write_all(lay_out(self)?.as_bytes())?;
        file.persist(path)?;
        Ok(())
    }

    /// Returns the model the root ran on.
    pub fn model(&self) -> Option<&str> {
        self.agents.first().map(|first| first.model.as_str())
    }

    /// Finds what does not fit together, and whose it is.
    fn check(&self) -> Result<(), (&AgentPath, String)> {
        let mut steps: HashMap<&AgentPath, u64> = HashMap::new();
        for Stretch { agent, system, tools, exchanges, .. } in &self.agents {
            *steps.entry(agent).or_default() += 2 * exchanges.len() as u64;
            let counts =
                [("system", system, self.systems.len()), ("tools", tools, self.tools.len())];
            for (what, number, count) in counts {
                if !(1..=count).contains(number) {
                    let problem = format!(
                        "`{agent}` has `{what}` {number}: expected a number from 1 to {count}"
                    );
                    return Err((agent, problem));
                }
            }
        }
        for (agent, count) in &self.order {
            let left = steps.get(agent).copied().unwrap_or_default();
            let Some(left) = left.checked_sub(*count) else {
                return Err((agent, format!("`order` has more steps of `{agent}` than it took")));
            };
            steps.insert(agent, left);
        }
        Ok(())
    }
}

impl Offer {
    pub(super) fn new(normal: &Normal, tool: &ToolSpec) -> Self {
        Self { name: tool.name.clone(), parameters: normal.value(&wordless(&tool.parameters)) }
    }
}

/// Takes the descriptions out of a schema: other words make no other tool.
fn wordless(schema: &Value) -> Value {
    let is_words = |(key, value): &(&String, &Value)| *key == "description" && value.is_string();
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|field| !is_words(field));
            fields.map(|(key, value)| (key.clone(), wordless(value))).collect()
        }
        Value::Array(items) => items.iter().map(wordless).collect(),
        plain => plain.clone(),
    }
}

impl End {
    /// Returns why the model stopped, if the answer was completed.
    pub(super) fn stop(&self) -> Option<StopReason> {
        match self {
            Self::Done => Some(StopReason::Done),
            Self::Calls => Some(StopReason::Calls),
            Self::Length => Some(StopReason::Length),
            Self::Filtered => Some(StopReason::Filtered),
            Self::BrokenOff | Self::Cut | Self::Stopped | Self::Failed(_) => None,
        }
    }
}

impl From<StopReason> for End {
    fn from(stop: StopReason) -> Self {
        match stop {
            StopReason::Done => Self::Done,
            StopReason::Calls => Self::Calls,
            StopReason::Length => Self::Length,
            StopReason::Filtered => Self::Filtered,
        }
    }
}

impl Choice {
    fn is_free(&self) -> bool {
        *self == Self::Free
    }
}

impl From<ToolChoice> for Choice {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Free => Self::Free,
            ToolChoice::None => Self::None,
        }
    }
}

fn version<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        VERSION => Ok(VERSION),
        other => Err(D::Error::custom(format!("version {other} is not known: expected {VERSION}"))),
    }
}

/// A link is written through, and not replaced.
fn resolve(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn directory(path: &Path) -> &Path {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_words_make_no_other_tool() {
        let schema = |words: &str| {
            let property = json!({ "type": "string", "description": words });
            json!({ "description": words, "properties": { "description": property }, "anyOf": [
                { "description": words, "const": 1 }
            ] })
        };
        let bare = json!({
            "properties": { "description": { "type": "string" } },
            "anyOf": [{ "const": 1 }]
        });
        assert_eq!(wordless(&schema("one")), bare);
        assert_eq!(wordless(&schema("other")), bare);
    }
}
