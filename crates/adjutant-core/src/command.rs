//! What is asked of an agent by whoever stands above it, and what it asks back.
//!
//! A parent is to its child what a front end is to the root: both send
//! [`Command`]s down to a path and see [`Event`](crate::Event)s come up from it.

use serde::{Deserialize, Serialize};

use crate::{Effect, Pattern, QuestionId, ToolCall};

/// Something asked of a running agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Adds a message, heard when the agent has done what it is doing.
    Say {
        /// The message.
        text: String,
    },
    /// Adds a message, heard before the next turn.
    Steer {
        /// The message.
        text: String,
    },
    /// Answers a question.
    Answer {
        /// Which one.
        question: QuestionId,
        /// What was answered.
        answer: Answer,
    },
    /// Stops the agent and everyone below it.
    Cancel,
}

/// When a message is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When the agent has done what it is doing.
    Queue,
    /// Before its next turn.
    Steer,
}

/// Something an agent wants to know from a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// May this call run?
    Permission {
        /// The call.
        call: ToolCall,
        /// What it would touch.
        effect: Effect,
        /// Why it is asked about.
        because: String,
        /// What a standing yes would allow, if nobody says otherwise. Empty if there can be
        /// none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<Pattern>,
    },
    /// A question in words.
    Question {
        /// The question.
        prompt: String,
        /// Answers to choose from; others may be given all the same.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        choices: Vec<String>,
    },
}

/// How long a person's yes stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Until the session ends.
    Session,
    /// In this project, always.
    Always,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Yes, this once.
    Allow,
    /// Yes, and from now on to whatever the rules speak of.
    AllowFromNowOn {
        /// The rules; those of the question, if there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rules: Vec<Pattern>,
        /// For how long.
        span: Span,
    },
    /// No.
    Deny {
        /// Why not. The model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Words.
    Words {
        /// The words.
        text: String,
    },
    /// Nobody is there to answer. Never a yes.
    Unattended,
}
