//! What is said to and by a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentPath, Fact};

/// The model's own name for one tool call.
pub type CallId = Arc<str>;

/// One entry of a conversation, never changed once it was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Words to the model.
    User {
        /// Whose words they are.
        origin: Origin,
        /// What was said.
        parts: Vec<Part>,
    },
    /// Words and calls of the model.
    Assistant {
        /// What was said, in the order it was said.
        parts: Vec<Part>,
    },
    /// What the tools answered, in the order of the calls.
    Tools {
        /// One result a call.
        results: Vec<ToolResult>,
    },
}

/// Who speaks to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// A person at a front end.
    Person,
    /// The agent that delegated.
    Parent,
    /// Another agent of the tree. Its words are data, not orders.
    Agent {
        /// Which one.
        path: AgentPath,
    },
    /// The runtime itself.
    Runtime {
        /// The background children whose ends this message delivers. A result is
        /// delivered once; this is the record of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ended: Vec<AgentPath>,
    },
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Prose.
    Text {
        /// The prose.
        text: String,
        /// The provider's own form of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// What the model thought on the way.
    Reasoning {
        /// As much of it as the provider shows.
        text: String,
        /// The provider's own form of it, to be handed back as it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// A picture.
    Image(Image),
    /// A request to act.
    Call(ToolCall),
}

/// A part in the words of the provider that made it, kept letter by letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// Which provider, interface and model made it; it means nothing to others.
    pub origin: Arc<str>,
    /// Its JSON, verbatim.
    pub json: Arc<str>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes, in base64.
    pub data: Arc<str>,
}

/// A model's request to act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's name for this call.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them. Text that is not JSON is kept as
    /// one string, to be repaired or refused when the call is run.
    pub arguments: Value,
    /// The provider's own form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call this answers.
    pub call: CallId,
    /// What the model reads.
    pub text: String,
    /// What the model sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// What the runtime saw the call do. Not shown to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
}

impl Part {
    /// Makes plain prose.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), native: None }
    }
}

impl ToolResult {
    /// Returns the result with no more than the beginning of a long text, and no pictures.
    pub fn shortened(&self, longest: usize) -> Self {
        if self.text.len() <= longest {
            return Self { images: Vec::new(), ..self.clone() };
        }
        let shown = self.text.floor_char_boundary(longest);
        let left_out = self.text.len() - shown;
        let text = format!("{}\n[{left_out} bytes left out, to save room]", &self.text[..shown]);
        Self { text, images: Vec::new(), ..self.clone() }
    }

    /// What is told of a call that was given up before it had ended.
    pub const GIVEN_UP: &str = "stopped before it had ended; what it did is not known";

    /// Makes the result of a call that did not work.
    pub fn failure(call: CallId, text: impl Into<String>) -> Self {
        Self { call, text: text.into(), images: Vec::new(), failed: true, facts: Vec::new() }
    }
}

impl Message {
    /// Makes words to the model.
    pub fn user(origin: Origin, text: impl Into<String>) -> Self {
        Self::User { origin, parts: vec![Part::text(text)] }
    }

    /// Returns the parts of the message; tool results have none.
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::User { parts, .. } | Self::Assistant { parts } => parts,
            Self::Tools { .. } => &[],
        }
    }

    /// Returns the prose of the message.
    pub fn text(&self) -> String {
        let texts = self.parts().iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Reasoning { .. } | Part::Image(_) | Part::Call(_) => None,
        });
        texts.collect()
    }

    /// Returns the calls of the message, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Image(_) => None,
        })
    }

    /// Returns about how many bytes the message takes in a request.
    pub fn size(&self) -> usize {
        match self {
            Self::User { parts, .. } | Self::Assistant { parts } => {
                parts.iter().map(Part::size).sum()
            }
            Self::Tools { results } => results.iter().map(ToolResult::size).sum(),
        }
    }
}

impl Image {
    /// Providers charge a picture by its pixels, not its bytes.
    const SIZE: usize = 4096;
}

impl ToolResult {
    fn size(&self) -> usize {
        self.text.len() + self.images.len() * Image::SIZE + 32
    }
}

impl Part {
    /// Returns about how many bytes the part takes in a request.
    pub fn size(&self) -> usize {
        match self {
            Self::Text { text, .. } | Self::Reasoning { text, .. } => text.len() + 16,
            Self::Image(_) => Image::SIZE,
            Self::Call(call) => call.name.len() + value_size(&call.arguments) + 48,
        }
    }
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 6,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_size(item) + 1).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + value_size(value) + 4).sum()
        }
    }
}
