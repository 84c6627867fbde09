//! What providers speak. Each format is pure: a request becomes text, the data of an
//! event becomes deltas; who moves the bytes is elsewhere.

pub(crate) mod chat;

use adjutant_core::{ModelError, Trouble};
use serde_json::Value;

/// Reads an error that comes in the middle of an answer.
pub(crate) fn error_in_stream(error: &Value) -> ModelError {
    let text = |key: &str| error[key].as_str().map(str::to_owned);
    let message = text("message").or_else(|| error.as_str().map(str::to_owned));
    let message = message.unwrap_or_else(|| error.to_string());
    let kind = text("code").or_else(|| text("type")).unwrap_or_default();
    let is_busy = ["rate_limit", "overloaded", "server_error", "unavailable", "429", "503"];
    let trouble = if is_busy.iter().any(|word| kind.contains(word)) {
        Trouble::Busy
    } else if is_too_long(&kind) || is_too_long(&message) {
        Trouble::TooLong
    } else {
        Trouble::Refused
    };
    ModelError::new(trouble, message)
}

/// Reports whether an error says that the conversation no longer fits.
pub(crate) fn is_too_long(text: &str) -> bool {
    let text = text.to_lowercase();
    let phrases = [
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "prompt is too long",
        "too many tokens",
        "input is too long",
    ];
    phrases.iter().any(|phrase| text.contains(phrase))
}
