//! What providers speak. Each dialect is pure: a request becomes bytes, the data of an
//! event becomes deltas; who moves the bytes is elsewhere.
//!
//! ```text
//!   head ── kept while tools and system prompt stay ── model, tools, system prompt
//!   log  ── each message encoded once              ── the conversation
//!   tail ── written anew for each request          ── what may differ from turn to turn
//! ```

mod call_ids;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod messages;
pub(crate) mod responses;
mod schema;
#[cfg(test)]
mod testing;

use std::{
    borrow::Cow,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{Delta, Effort, Manner, Message, ModelError, Native, Request, Trouble};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub(crate) use self::call_ids::CallIds;
use crate::provider::Quirks;

/// The longest that anybody waits because a server says so, whatever it says.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_hours(1);

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

    /// Returns how much it is to think about a request: what the agent's own manner says counts
    /// more.
    pub(crate) fn effort_of(&self, request: &Request<'_>) -> Option<Effort> {
        request.manner.effort.or(self.effort)
    }

    /// Keeps a part in the model's own words.
    pub(crate) fn native(&self, json: impl Into<Arc<str>>) -> Native {
        Native { origin: Arc::clone(&self.origin), json: json.into() }
    }
}

/// Says how the words of an answer are to be chosen, if anybody cares, in the names that most
/// interfaces have for it.
pub(crate) fn choosing(settings: &mut Value, request: &Request<'_>) {
    let Manner { temperature, top_p, .. } = request.manner;
    for (name, value) in [("temperature", temperature), ("top_p", top_p)] {
        if let Some(value) = value {
            settings[name] = Value::Number(value.clone());
        }
    }
}

/// Writes JSON.
pub(crate) fn put(bytes: &mut Vec<u8>, value: &impl Serialize) {
    // Plain data into memory: neither can fail.
    let _ = serde_json::to_writer(bytes, value);
}

/// Ends a body: closes what is open, and adds the fields that come last.
pub(crate) fn finish(mut bytes: Vec<u8>, close: &[u8], fields: &Value) -> Vec<u8> {
    bytes.extend_from_slice(close);
    bytes.push(b',');
    // The object they are written as goes on from the one that is open.
    bytes.extend_from_slice(&fields.to_string().as_bytes()[1..]);
    bytes
}

/// Returns a call's id in a form that every provider takes: short, of letters, digits, `_`
/// and `-`. An id of another provider's may be neither; its stand-in is always the same, so
/// that a call and its result still belong together.
pub(crate) fn fit_id(id: &str, longest: usize) -> Cow<'_, str> {
    if !id.is_empty() && id.len() <= longest && id.chars().all(is_plain) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{:016x}", hash_of(id)))
}

/// Returns the name of what was called in a form that every provider takes. A model may make
/// up one that would be refused in every later turn.
pub(crate) fn fit_name(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    if name.is_empty() {
        Cow::Borrowed("unnamed")
    } else if name.len() <= LONGEST && name.chars().all(is_plain) {
        Cow::Borrowed(name)
    } else {
        let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
        Cow::Owned(name.chars().map(plain).take(LONGEST).collect())
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// Returns a call's arguments as an object, which they have to be; what is none is put into one.
pub(crate) fn fit_arguments(arguments: &Value) -> Cow<'_, Value> {
    if arguments.is_object() {
        Cow::Borrowed(arguments)
    } else {
        Cow::Owned(json!({ "unparsed": arguments }))
    }
}

/// Returns a name for the beginning of a conversation. All turns and forks of it share the
/// name, so that a provider sends them to where that beginning is cached.
pub(crate) fn cache_key(speaker: &Speaker, request: &Request<'_>) -> String {
    let first = request.messages.first().map(|message| message.text());
    format!("adjutant-{:016x}", hash_of((&speaker.model, request.system, first)))
}

/// Returns what stands for a value wherever and whenever it is asked for.
pub(crate) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Reads the data of an event.
pub(crate) fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<T, ModelError> {
    serde_json::from_slice(data).map_err(|error| {
        let data = String::from_utf8_lossy(data);
        let message = format!("the server sent what is not an answer ({error}): {data}");
        ModelError::new(Trouble::Broken, message)
    })
}

/// Reads a call's arguments. Text that is not JSON is kept as it is.
pub(crate) fn arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(&text).map_or(Value::String(text), shallow)
}

/// Returns a value as it is, or as text if it is too deep: what a message has is kept inside
/// other JSON, and readers of JSON go only so deep.
pub(crate) fn shallow(value: Value) -> Value {
    const DEEPEST: usize = 64;
    if depth(&value) > DEEPEST { Value::String(value.to_string()) } else { value }
}

fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

/// Reads an error that comes in the middle of an answer.
pub(crate) fn error_in_stream(error: &Value) -> ModelError {
    let text = |key: &str| match &error[key] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let message = text("message").or_else(|| error.as_str().map(str::to_owned));
    let message = message.unwrap_or_else(|| error.to_string());
    let kind = text("code").or_else(|| text("type")).unwrap_or_default();
    let trouble = if is_busy(&kind) {
        Trouble::Busy
    } else if is_too_long(&kind) || is_too_long(&message) {
        Trouble::TooLong
    } else {
        Trouble::Refused
    };
    ModelError { retry_after: retry_in_words(&message), ..ModelError::new(trouble, message) }
}

/// Reports whether the code of an error says that the server has too much to do. Some
/// servers give the status that the answer would have had.
fn is_busy(code: &str) -> bool {
    let words = ["rate_limit", "overloaded", "server_error", "unavailable", "slow_down"];
    match code.parse() {
        Ok(status) => matches!(status, 408_u16 | 429 | 500..),
        Err(_) => words.iter().any(|word| code.contains(word)),
    }
}

/// Finds when to try again in the words of an error, such as `Please try again in 1m3.5s.`
pub(crate) fn retry_in_words(text: &str) -> Option<Duration> {
    let text = text.to_lowercase();
    let beginnings = ["try again in ", "retry in ", "retry after "];
    beginnings.iter().find_map(|beginning| delay(text.split_once(beginning)?.1))
}

/// Reads the time that a text begins with, such as `34s`, `250ms`, `1m3.5s` or `20 seconds`.
pub(crate) fn delay(text: &str) -> Option<Duration> {
    let (mut seconds, mut rest) = (None, text);
    loop {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let after = rest.trim_start_matches(is_number);
        let Ok(number) = rest[..rest.len() - after.len()].parse::<f64>() else { break };
        let unit = after.trim_start();
        rest = unit.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let length = match &unit[..unit.len() - rest.len()] {
            "ms" | "millisecond" | "milliseconds" => number / 1000.0,
            "s" | "second" | "seconds" => number,
            "m" | "minute" | "minutes" => number * 60.0,
            "h" | "hour" | "hours" => number * 3600.0,
            _ => break,
        };
        seconds = Some(seconds.unwrap_or(0.0) + length);
    }
    wait(seconds?)
}

/// Returns a time that a server wants to be left alone for, as far as it is one.
pub(crate) fn wait(seconds: f64) -> Option<Duration> {
    let seconds = Some(seconds).filter(|seconds| seconds.is_finite())?;
    let longest = LONGEST_WAIT.as_secs_f64();
    Duration::try_from_secs_f64(seconds.min(longest)).ok()
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
        "exceeds the maximum number of tokens",
    ];
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::{
        chat::Chat,
        gemini::Gemini,
        messages::Messages,
        responses::Responses,
        testing::{fresh, request, speaker},
        *,
    };
    use adjutant_core::{Origin, Part, ToolCall};

    #[test]
    fn when_to_try_again_is_found_in_words() {
        for (text, millis) in [
            ("Rate limit reached. Please try again in 11.5s. Visit https://x.y/3s", 11_500),
            ("Please try again in 250ms.", 250),
            ("please TRY AGAIN IN 1m3s", 63_000),
            ("try again in 0.5h1m0.5s", 1_860_500),
            ("try again in 1h0m0.5s", 3_600_000),
            ("try again in 99999999999999999999s", 3_600_000),
            ("You exceeded your quota. Please retry in 34.25s.", 34_250),
            ("Retry after 20 seconds", 20_000),
        ] {
            assert_eq!(retry_in_words(text), Some(Duration::from_millis(millis)), "{text}");
        }
        let endless = format!("try again in {}s", "9".repeat(400));
        assert_eq!(retry_in_words(&endless), None);
        for text in ["try again in a while", "try again in 3", "try again in .s", "in 3s", ""] {
            assert_eq!(retry_in_words(text), None, "{text}");
        }
    }

    #[test]
    fn an_error_is_understood_whether_its_code_is_a_word_or_a_number() {
        let read = |code: Value, message: &str| {
            let error = error_in_stream(&json!({ "code": code, "message": message }));
            (error.trouble, error.retry_after)
        };
        let soon = Some(Duration::from_millis(2512));
        let busy = "Rate limit reached. Please try again in 2.512s.";
        assert_eq!(read(json!("rate_limit_exceeded"), busy), (Trouble::Busy, soon));
        assert_eq!(read(json!(429), busy), (Trouble::Busy, soon));
        assert_eq!(read(json!(502), "Provider disconnected"), (Trouble::Busy, None));
        assert_eq!(read(json!("server_error"), "oops"), (Trouble::Busy, None));
        assert_eq!(read(json!("context_length_exceeded"), "long"), (Trouble::TooLong, None));
        assert_eq!(read(json!(400), "maximum context length"), (Trouble::TooLong, None));
        assert_eq!(read(json!("invalid_prompt"), "no"), (Trouble::Refused, None));
        assert_eq!(read(json!(403), "flagged"), (Trouble::Refused, None));
    }

    #[test]
    fn arguments_that_are_too_deep_stay_text() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(arguments(nested(64)).is_array());
        assert_eq!(arguments(nested(65)), Value::String(nested(65)));
        assert_eq!(depth(&json!([1, { "a": [], "b": 2 }, []])), 3);
    }

    #[test]
    fn turns_and_forks_share_a_cache_key_and_others_do_not() {
        let say = |text: &str| Arc::new(Message::user(Origin::Person, text));
        let key = |model: &str, system: &str, texts: &[&str]| {
            let messages: Vec<_> = texts.iter().map(|text| say(text)).collect();
            cache_key(&speaker("openai", model), &Request { system, ..request(&messages, &[]) })
        };
        let first = key("m", "s", &["audit"]);
        assert_eq!(first, key("m", "s", &["audit", "and then?"]));
        assert!(first.starts_with("adjutant-") && first.len() <= 64, "{first}");
        for other in
            [key("n", "s", &["audit"]), key("m", "t", &["audit"]), key("m", "s", &["another task"])]
        {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_name_is_kept_if_it_fits_and_made_to_fit_otherwise() {
        let long = "x".repeat(65);
        for (name, expected) in [
            ("list-dir_2", "list-dir_2"),
            (&long[1..], &long[1..]),
            (&long, &long[1..]),
            ("fs.list dir", "fs_list_dir"),
            ("käse", "k_se"),
            ("", "unnamed"),
        ] {
            assert_eq!(fit_name(name), expected);
        }
    }

    #[test]
    fn a_call_that_would_be_refused_is_made_to_fit_in_every_dialect() {
        let (id, name, arguments) = ("c".into(), "fs.list dir".to_owned(), json!("{\"path\":"));
        let call = Part::Call(ToolCall { id, name, arguments, native: None });
        let said = Arc::new(Message::Assistant { parts: vec![call] });
        let messages = [Arc::new(Message::user(Origin::Person, "look")), said];
        let sent = |dialect: &dyn Dialect, place: &str, name: &str, arguments: &str| {
            let body = fresh(dialect, &speaker("openai", "m"), &request(&messages, &[]));
            let call = body.pointer(place).unwrap_or_else(|| panic!("no {place} in {body}"));
            (call[name].clone(), call[arguments].clone())
        };
        let object = json!({ "unparsed": "{\"path\":" });
        let (text, name) = (json!(object.to_string()), json!("fs_list_dir"));
        let function = "/messages/2/tool_calls/0/function";
        assert_eq!(sent(&Chat, function, "name", "arguments"), (name.clone(), text.clone()));
        assert_eq!(sent(&Responses, "/input/1", "name", "arguments"), (name.clone(), text));
        let block = "/messages/1/content/0";
        assert_eq!(sent(&Messages, block, "name", "input"), (name.clone(), object.clone()));
        let part = "/contents/1/parts/0/functionCall";
        assert_eq!(sent(&Gemini, part, "name", "args"), (name, object));
    }

    #[test]
    fn arguments_are_always_sent_as_an_object() {
        let fine = json!({ "path": "a" });
        assert_eq!(*fit_arguments(&fine), fine);
        for other in [json!("{\"path\":"), json!([1]), json!(null)] {
            assert_eq!(*fit_arguments(&other), json!({ "unparsed": other }));
        }
    }

    #[test]
    fn an_id_is_kept_if_it_fits_and_stands_in_always_alike() {
        assert_eq!(fit_id("call_A-9", 40), "call_A-9");
        for unfit in ["", "functions.read:0", &"x".repeat(41)] {
            let stand_in = fit_id(unfit, 40);
            assert_eq!(stand_in, fit_id(unfit, 40));
            assert_eq!(fit_id(&stand_in, 40), stand_in, "{unfit}");
            assert_ne!(stand_in, unfit);
        }
        assert_ne!(fit_id("a.b", 40), fit_id("a:b", 40));
    }

    #[test]
    fn an_agents_own_manner_is_told_in_every_language_and_counts_more() {
        use adjutant_core::{Effort, Manner};
        use serde_json::{Number, json};

        use super::{chat::Chat, gemini::Gemini, messages::Messages, responses::Responses};
        let manner = Manner {
            temperature: Some(Number::from(0)),
            top_p: Number::from_f64(0.5),
            effort: Some(Effort::High),
            ..Manner::default()
        };
        let languages: [(&dyn Dialect, _, [&str; 3]); 4] = [
            (&Chat, "openrouter", ["/temperature", "/top_p", "/reasoning_effort"]),
            (&Responses, "openai-responses", ["/temperature", "/top_p", "/reasoning/effort"]),
            (&Messages, "anthropic", ["/temperature", "/top_p", "/output_config/effort"]),
            (
                &Gemini,
                "gemini",
                [
                    "/generationConfig/temperature",
                    "/generationConfig/topP",
                    "/generationConfig/thinkingConfig/thinkingLevel",
                ],
            ),
        ];
        let messages = [Arc::new(Message::user(Origin::Person, "hi"))];
        for (dialect, provider, places) in languages {
            let mut speaker = testing::speaker(provider, "o9");
            speaker.effort = Some(Effort::Low);
            let plain = testing::request(&messages, &[]);
            let usual = testing::fresh(dialect, &speaker, &plain);
            let asked = Request { manner: &manner, ..plain };
            let body = testing::fresh(dialect, &speaker, &asked);
            let told = places.map(|place| body.pointer(place).cloned().unwrap_or_default());
            assert_eq!(told, [json!(0), json!(0.5), json!("high")], "{provider}: {body}");
            let told = places.map(|place| usual.pointer(place).cloned().unwrap_or_default());
            assert_eq!(told, [json!(null), json!(null), json!("low")], "{provider}: {usual}");
        }
    }
}
