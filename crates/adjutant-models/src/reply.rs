//! One reply of a script: whom it is for, what it says and how it ends.

use std::time::Duration;

use adjutant_core::{ModelError, Part, Request, StopReason, ToolChoice, Trouble, Usage};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::{brief::brief, pattern::Pattern, speech::Grain};

/// A reply of a script.
///
/// In a file it is a `[[reply]]` with these fields; all but one of `text`, `calls`,
/// `error` and `hang` can be left out.
///
/// | field | is |
/// |---|---|
/// | `agent` | whom it is for: a path, in which `*` stands for any characters, dots included |
/// | `turn` | only this turn of the agent; the first is 1 |
/// | `task` | only an agent whose first message contains this |
/// | `last` | only a turn in which no tool may be called; others get replies without calls |
/// | `times` | how often each agent may get it: a number (1) or `"any"` |
/// | `text`, `reasoning` | what is said; `text = ""` is an empty answer |
/// | `calls` | `[{tool = "…", args = {…}, id = "…"}]`; without an id it is `c<turn>-<number>` |
/// | `delay_ms` | the silence before the answer |
/// | `chunk_ms` | the silence between fragments; with it the fragments are words |
/// | `hang` | what is said is never finished |
/// | `error` | `{kind = "busy", message = "…", retry_after_ms = 100}`, after what is said |
/// | `break_after` | the stream is cut off after so many words |
/// | `stop` | `"length"` or `"filtered"` |
/// | `usage` | `{input = 10, output = 5, …}`; else a token for every four bytes |
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    pub(crate) agent: Pattern,
    pub(crate) turn: Option<u64>,
    pub(crate) task: Option<String>,
    last: bool,
    times: Times,
    pub(crate) text: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<Call>,
    delay_ms: u64,
    pub(crate) chunk_ms: u64,
    pub(crate) hang: bool,
    #[serde(deserialize_with = "failure")]
    pub(crate) error: Option<ModelError>,
    pub(crate) break_after: Option<usize>,
    #[serde(deserialize_with = "stop")]
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
}

/// A call a reply makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub(crate) id: Option<String>,
    pub(crate) tool: String,
    #[serde(default = "no_arguments")]
    pub(crate) args: Value,
}

/// How often each agent may get a reply.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "`times` is a number from 1 up, or \"any\"")]
enum Times {
    Count(u32),
    Always(Any),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Any {
    Any,
}

/// Makes a call, to be put into [`Reply::calls`].
pub fn call(id: &str, tool: &str, args: Value) -> Call {
    Call { id: Some(id.to_owned()), tool: tool.to_owned(), args }
}

impl Reply {
    /// Makes a reply that says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Makes a reply that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self { calls: calls.into_iter().collect(), ..Self::default() }
    }

    /// Makes a reply that never comes.
    pub fn hang() -> Self {
        Self { hang: true, ..Self::default() }
    }

    /// Makes a reply that fails.
    pub fn error(error: ModelError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// Says something as well.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Thinks aloud first.
    #[must_use]
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        Self { reasoning: Some(text.into()), ..self }
    }

    /// Waits before the answer.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay_ms: millis(delay), ..self }
    }

    /// Waits between words.
    #[must_use]
    pub fn word_by_word(self, pause: Duration) -> Self {
        Self { chunk_ms: millis(pause), ..self }
    }

    /// Cuts the answer off after so many words.
    #[must_use]
    pub fn cut_after(self, words: usize) -> Self {
        Self { break_after: Some(words), ..self }
    }

    /// Stops for another reason than being done.
    #[must_use]
    pub fn stopped(self, reason: StopReason) -> Self {
        Self { stop: Some(reason), ..self }
    }

    /// Reports this usage.
    #[must_use]
    pub fn using(self, usage: Usage) -> Self {
        Self { usage: Some(usage), ..self }
    }

    /// Is given in this turn only; the first is 1.
    #[must_use]
    pub fn turn(self, turn: u64) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// Is given only when no tool may be called.
    #[must_use]
    pub fn last(self) -> Self {
        Self { last: true, ..self }
    }

    /// Can be given to each agent so many times.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { times: Times::Count(count), ..self }
    }

    /// Can be given to each agent any number of times.
    #[must_use]
    pub fn always(self) -> Self {
        Self { times: Times::Always(Any::Any), ..self }
    }

    /// Reports whether the reply is meant for a request of an agent with this task.
    pub(crate) fn fits(&self, request: &Request<'_>, task: &str) -> bool {
        let may_be_said = match request.choice {
            ToolChoice::Free => !self.last,
            ToolChoice::None => self.last || self.calls.is_empty(),
        };
        may_be_said
            && self.agent.matches(request.agent)
            && self.turn.is_none_or(|turn| turn == request.turn)
            && self.task.as_ref().is_none_or(|part| task.contains(part))
    }

    /// Reports whether an agent that got the reply so often may get it again.
    pub(crate) fn is_left_after(&self, uses: u32) -> bool {
        match self.times {
            Times::Count(count) => uses < count,
            Times::Always(_) => true,
        }
    }

    /// Returns what is said in words.
    pub(crate) fn words(&self) -> Vec<Part> {
        let thought = self.reasoning.clone().map(|text| Part::Reasoning { text, native: None });
        thought.into_iter().chain(self.text.clone().map(Part::text)).collect()
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    pub(crate) fn pause(&self) -> Duration {
        Duration::from_millis(self.chunk_ms)
    }

    pub(crate) fn grain(&self) -> Grain {
        let is_whole = self.chunk_ms == 0 && self.break_after.is_none();
        if is_whole { Grain::Whole } else { Grain::Words }
    }

    /// Tells the reply from others, in a few words.
    pub(crate) fn describe(&self) -> String {
        let mut about = format!("`{}`", self.agent.as_str());
        if let Some(turn) = self.turn {
            about += &format!(", turn {turn}");
        }
        if let Some(task) = &self.task {
            about += &format!(", task “{}”", brief(task, 40));
        }
        let tools: Vec<_> = self.calls.iter().map(|call| call.tool.as_str()).collect();
        let said = match (&self.text, &self.error) {
            (Some(text), _) => format!("“{}”", brief(text, 40)),
            (None, Some(error)) => format!("fails: {}", error.message),
            (None, None) if self.hang => "hangs".to_owned(),
            (None, None) => format!("calls {}", tools.join(", ")),
        };
        format!("{about}: {said}")
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::Count(1)
    }
}

fn failure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ModelError>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Failure {
        kind: Trouble,
        #[serde(default = "no_message")]
        message: String,
        retry_after_ms: Option<u64>,
    }
    let Failure { kind: trouble, message, retry_after_ms } = Failure::deserialize(deserializer)?;
    let retry_after = retry_after_ms.map(Duration::from_millis);
    Ok(Some(ModelError { trouble, message, retry_after }))
}

fn stop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StopReason>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Stop {
        Length,
        Filtered,
    }
    Ok(Some(match Stop::deserialize(deserializer)? {
        Stop::Length => StopReason::Length,
        Stop::Filtered => StopReason::Filtered,
    }))
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

fn no_message() -> String {
    "the script says that this call fails".to_owned()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
