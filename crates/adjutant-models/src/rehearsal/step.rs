//! What a rehearsal does next.

use serde_json::Value;

/// What is said and called in one turn.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// The words.
    pub(crate) text: String,
    /// The calls: each a tool and its arguments.
    pub(crate) calls: Vec<(&'static str, Value)>,
}

impl Step {
    /// Makes a step that only says something.
    pub(crate) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }
}
