//! What the tests of dialects have in common.

use std::sync::{Arc, LazyLock};

use adjutant_core::{
    AgentPath, Delta, Effect, Manner, Message, ModelError, Part, Request, ToolChoice, ToolSpec,
    WireLog,
};
use serde_json::{Value, json};

use super::{Dialect, Speaker};
use crate::provider::Provider;

static USUAL: LazyLock<Manner> = LazyLock::new(Manner::default);

static ROOT: LazyLock<AgentPath> = LazyLock::new(AgentPath::root);

/// Makes a model of a provider's.
pub(super) fn speaker(provider: &str, model: &str) -> Speaker {
    let origin = format!("{provider}/{model}").into();
    let quirks = Provider::find(provider).expect("a row of the table").quirks;
    Speaker { origin, model: model.to_owned(), effort: None, quirks }
}

/// Makes a tool with these parameters.
pub(super) fn tool(name: &str, parameters: Value) -> Arc<ToolSpec> {
    let description = format!("Does {name}.");
    Arc::new(ToolSpec { name: name.to_owned(), description, parameters, effect: Effect::Read })
}

/// Makes a request without anything special.
pub(super) fn request<'a>(messages: &'a [Arc<Message>], tools: &'a [Arc<ToolSpec>]) -> Request<'a> {
    Request {
        agent: &ROOT,
        turn: 1,
        system: "be brief",
        messages,
        tools,
        choice: ToolChoice::Free,
        schema: None,
        max_output: 99,
        manner: &USUAL,
    }
}

/// Returns the body of a request, and how much of it is there before the tail.
pub(super) fn body(
    dialect: &dyn Dialect,
    speaker: &Speaker,
    request: &Request<'_>,
    log: &mut WireLog,
) -> (String, usize) {
    log.extend(&speaker.origin, request.messages, |before, message, bytes| {
        dialect.message(speaker, before, message, bytes);
    });
    let mut body = dialect.head(speaker, request);
    body.extend(log.chunks().concat());
    let length = body.len();
    body.extend(dialect.tail(speaker, request));
    (String::from_utf8(body).expect("JSON is text"), length)
}

/// Returns the body of a request whose conversation is not known yet.
pub(super) fn fresh(dialect: &dyn Dialect, speaker: &Speaker, request: &Request<'_>) -> Value {
    let (body, _) = body(dialect, speaker, request, &mut WireLog::default());
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// Takes turns on a conversation and forks it midway: whatever is sent begins with what
/// was sent before.
pub(super) fn assert_only_grows(
    dialect: &dyn Dialect,
    speaker: &Speaker,
    messages: &[Arc<Message>],
) {
    let schema = json!({ "type": "object" });
    let tools = [tool("read_file", json!({ "type": "object" }))];
    let (mut log, mut seen) = (WireLog::default(), String::new());
    for turn in 1..=messages.len() {
        let plain = request(&messages[..turn], &tools);
        let choice = if turn == 2 { ToolChoice::None } else { ToolChoice::Free };
        let schema = (turn == 3).then_some(&schema);
        let request = Request { choice, schema, max_output: 90 + turn as u64, ..plain };
        let mut fork = log.clone();
        let (whole, length) = body(dialect, speaker, &request, &mut log);
        assert!(whole.starts_with(&seen), "{seen}\n{whole}");
        assert_eq!(body(dialect, speaker, &request, &mut fork), (whole.clone(), length));
        let anew = body(dialect, speaker, &request, &mut WireLog::default());
        assert_eq!(anew, (whole.clone(), length));
        serde_json::from_str::<Value>(&whole).unwrap_or_else(|error| panic!("{error}: {whole}"));
        seen = whole[..length].to_owned();
    }
}

/// Reads the data of events, the answer to a conversation of three messages.
pub(super) fn read(
    dialect: &dyn Dialect,
    speaker: &Speaker,
    events: &[impl ToString],
) -> Result<Vec<Delta>, ModelError> {
    let (mut reader, mut deltas) = (dialect.reader(speaker, 3), Vec::new());
    for event in events {
        reader.read(event.to_string().as_bytes(), &mut deltas)?;
    }
    reader.end(&mut deltas);
    Ok(deltas)
}

/// Returns the message that an answer makes.
pub(super) fn message(deltas: &[Delta]) -> Arc<Message> {
    let parts = deltas.iter().filter_map(|delta| match delta {
        Delta::Part(part) => Some(part.clone()),
        _ => None,
    });
    Arc::new(Message::Assistant { parts: parts.collect::<Vec<Part>>() })
}
