//! The port to models.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentPath, Manner, Message, Part, Price, ToolSpec, Usage, WireLog};

/// What is known of a model before it is asked anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its full name, `provider/model`.
    pub name: Arc<str>,
    /// Whose limits on calls it shares.
    pub provider: Arc<str>,
    /// How many tokens a conversation may have.
    pub window: u64,
    /// The most tokens asked for in one answer.
    pub max_output: u64,
    /// What it charges; `None` is not known.
    pub price: Option<Price>,
}

/// One model call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who asks.
    pub agent: &'a AgentPath,
    /// The agent's how-manieth turn this is; the first is 1.
    pub turn: u64,
    /// Who the model is to be.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Arc<Message>],
    /// What the model can call.
    pub tools: &'a [Arc<ToolSpec>],
    /// Whether it may call them now. The list stays the same from turn to turn,
    /// so that the provider's cache holds.
    pub choice: ToolChoice,
    /// The JSON Schema that the last answer has to fit, if any. A provider that can hold
    /// a model to it is told; whoever asks checks.
    pub schema: Option<&'a Value>,
    /// The most tokens in the answer.
    pub max_output: u64,
    /// How the model is to go about it.
    pub manner: &'a Manner,
}

/// Whether a model may call tools in this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Free,
    /// It may not.
    None,
}

/// One step of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// A fragment of prose, to be shown.
    Text(String),
    /// A fragment of reasoning, to be shown.
    Reasoning(String),
    /// A part is complete. Only these make up the message.
    Part(Part),
    /// What was used so far, all together.
    Usage(Usage),
    /// The answer is complete. A stream that ends without this was cut off.
    Stop(StopReason),
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had said what it wanted to say.
    Done,
    /// It wants tools to be run.
    Calls,
    /// The limit on the answer's length was reached.
    Length,
    /// The provider would not let it go on.
    Filtered,
}

/// What an engine does about a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Waits and tries again: too many calls, or an overloaded server.
    Busy,
    /// Tries again: there was no connection, so nothing was sent.
    Unreached,
    /// Tries again: the connection or the answer broke.
    Broken,
    /// Shortens the conversation.
    TooLong,
    /// Gives up: the key is missing or wrong.
    Unauthorized,
    /// Gives up: there is no such model.
    NotFound,
    /// Gives up: the provider refuses the request.
    Refused,
}

/// A model call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// What to do about it.
    pub trouble: Trouble,
    /// What happened, for people.
    pub message: String,
    /// When to try again, if the provider said.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// Makes an error without a time to try again.
    pub fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self { trouble, message: message.into(), retry_after: None }
    }

    /// Reports whether the same call may work another time.
    pub fn is_passing(&self) -> bool {
        matches!(self.trouble, Trouble::Busy | Trouble::Unreached | Trouble::Broken)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}

/// A model that can be asked.
///
/// An implementation turns one [`Request`] into one exchange and what comes back
/// into [`Delta`]s. It takes what it needs from the request before it returns, does
/// not retry, and keeps nothing between calls.
pub trait Model: Send + Sync {
    /// Returns what is known of the model.
    fn info(&self) -> &ModelInfo;

    /// Streams the answer. Dropping the stream ends the exchange. `wire` is what the
    /// adapter keeps of the conversation in its own format, from turn to turn.
    fn stream(
        &self,
        request: Request<'_>,
        wire: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>>;
}

/// Where models are found by name.
pub trait Models: Send + Sync {
    /// Returns the model of that name, or says which names there are.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError>;
}
