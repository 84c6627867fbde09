//! What providers speak. Each dialect is pure: a request becomes bytes, the data of an
//! event becomes deltas; who moves the bytes is elsewhere.
//!
//! ```text
//!   head ── kept while tools and system prompt stay ── model, tools, system prompt
//!   log  ── each message encoded once              ── the conversation
//!   tail ── written anew for each request          ── what may differ from turn to turn
//! ```

pub(crate) mod chat;

use std::{
    borrow::Cow,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use adjutant_core::{Delta, Message, ModelError, Native, Request, Trouble};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{effort::Effort, provider::Quirks};

/// The language of an interface. All of it is pure.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// Returns what follows the base address in the URL of a request.
    fn path(&self, speaker: &Speaker) -> String;

    /// Returns the header that has the key, and what comes before the key in it.
    fn key_header(&self) -> (&'static str, &'static str);

    /// Returns the headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Writes what comes before the messages.
    fn head(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8>;

    /// Writes a message that follows others. What is written never changes; a dialect
    /// that has to close it differently later leaves that to the next message and to the
    /// tail.
    fn message(
        &self,
        speaker: &Speaker,
        before: &[Arc<Message>],
        message: &Message,
        bytes: &mut Vec<u8>,
    );

    /// Returns what marks the end of what the provider has seen, if that helps it.
    fn mark(&self) -> &'static [u8] {
        b""
    }

    /// Writes what comes after the messages.
    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8>;

    /// Makes a reader of the answer to a conversation of so many messages.
    fn reader(&self, speaker: &Speaker, messages: usize) -> Box<dyn Read>;
}

/// Reads the data of an answer's events.
pub(crate) trait Read: Send {
    /// Reads the data of one event.
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError>;

    /// The stream has ended. An answer that was not complete by then stays incomplete.
    fn end(&mut self, deltas: &mut Vec<Delta>);
}

/// The model that is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Speaker {
    /// Its full name. What it said in its own words means nothing to others.
    pub(crate) origin: Arc<str>,
    /// Its name at the provider.
    pub(crate) model: String,
    /// How much it is to think, if anybody said.
    pub(crate) effort: Option<Effort>,
    /// Where it does otherwise than most.
    pub(crate) quirks: Quirks,
}

impl Speaker {
    /// Returns a part's own words, if they are this model's.
    pub(crate) fn own<'a>(&self, native: Option<&'a Native>) -> Option<&'a str> {
        native.filter(|native| native.origin == self.origin).map(|native| &*native.json)
    }

    /// Keeps a part in the model's own words.
    pub(crate) fn native(&self, json: impl Into<Arc<str>>) -> Native {
        Native { origin: Arc::clone(&self.origin), json: json.into() }
    }
}

/// Writes JSON.
pub(crate) fn put(bytes: &mut Vec<u8>, value: &impl Serialize) {
    // Plain data into memory: neither can fail.
    let _ = serde_json::to_writer(bytes, value);
}

/// Returns an id for a call that came without one. It is the only one of its conversation.
pub(crate) fn made_up_id(messages: usize, place: usize) -> String {
    format!("call_{messages}_{place}")
}

/// Returns a call's id in a form that every provider takes: short, of letters, digits, `_`
/// and `-`. An id of another provider's may be neither; its stand-in is always the same, so
/// that a call and its result still belong together.
pub(crate) fn fit_id(id: &str, longest: usize) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= longest && id.bytes().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    Cow::Owned(format!("call_{:016x}", hasher.finish()))
}

/// Reads the data of an event.
pub(crate) fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(data).map_err(|error| {
        let beginning = String::from_utf8_lossy(&data[..data.len().min(80)]);
        let message = format!("the server sent what is not an answer ({error}): {beginning}");
        ModelError::new(Trouble::Broken, message)
    })
}

/// Reads a call's arguments. Text that is not JSON is kept as it is.
pub(crate) fn arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

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
