//! What has to hold of an answer that was read, whatever the server sent.

use std::{collections::HashSet, sync::Arc};

use adjutant_core::{
    AgentPath, Delta, EventKind, Manner, Message, Native, Origin, Part, Price, Request, ToolCall,
    ToolChoice, ToolResult, Usage, WireLog,
};
use adjutant_models::{
    Provider,
    fuzz::{Heard, origin, read, write},
};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{cut, hash, sse, various};

/// Checks what these providers' models would be understood to say. `is_end` reports whether
/// the data of an event ends an answer.
pub(super) fn check(input: &[u8], providers: &[&str], is_end: fn(&Value) -> bool) -> u64 {
    let kinds = providers.iter().filter_map(|name| Provider::find(name)).map(|provider| {
        let heard = read(provider, &[input]);
        for pieces in [input.chunks(1).collect(), cut(input)] {
            assert_eq!(read(provider, &pieces), heard, "in {} pieces", pieces.len());
        }
        assert_size(input, &heard);
        assert_paid(&heard);
        assert_calls(&heard);
        if has_ended(&heard) {
            let mut events = sse::events(input).into_iter();
            assert!(events.any(|data| may_be(&data, is_end)), "an end out of nothing");
            let said = message(heard.deltas.clone());
            assert_sent(provider, &said);
            assert_kept(said);
        }
        kind(&heard)
    });
    hash(kinds.collect::<Vec<_>>())
}

/// Reports whether data is such JSON. Of what is too odd to be looked at, it may be.
fn may_be(data: &[u8], such: fn(&Value) -> bool) -> bool {
    match serde_json::from_slice(data) {
        Ok(value) => such(&value),
        Err(_) => data == b"[DONE]" || is_json(data),
    }
}

fn is_json(data: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(data).is_ok()
}

fn has_ended(heard: &Heard) -> bool {
    let mut deltas = heard.deltas.iter();
    let has_ended = deltas.any(|delta| matches!(delta, Delta::Stop(_)));
    assert_eq!(deltas.next(), None, "something is said after the end");
    has_ended
}

/// No more is made of an answer than it has.
fn assert_size(input: &[u8], heard: &Heard) {
    let size = |delta: &Delta| match delta {
        Delta::Text(text) | Delta::Reasoning(text) => text.len(),
        Delta::Part(part) => part.size() + native(part).map_or(0, |native| native.json.len()),
        Delta::Usage(_) | Delta::Stop(_) => 0,
    };
    let size: usize = heard.deltas.iter().map(size).sum();
    assert!(size <= 16 * input.len() + 1024, "{size} bytes of {}", input.len());
    assert!(heard.deltas.len() <= input.len() + 8, "{} deltas", heard.deltas.len());
}

/// What was used can be counted and paid, whatever the server says it was.
fn assert_paid(heard: &Heard) {
    let price = Price { input: 3, output: 15, cache_read: 1, cache_write: 4 };
    for delta in &heard.deltas {
        if let Delta::Usage(usage) = *delta {
            assert!(price.cost(usage) <= price.cost(Usage { output: u64::MAX, ..usage }));
        }
    }
}

fn assert_calls(heard: &Heard) {
    let mut ids = HashSet::new();
    for delta in &heard.deltas {
        if let Delta::Part(Part::Call(ToolCall { id, .. })) = delta {
            assert!(!id.is_empty(), "a call without an id");
            assert!(ids.insert(id), "two calls are {id}");
        }
    }
}

fn message(deltas: Vec<Delta>) -> Arc<Message> {
    let parts = deltas.into_iter().filter_map(|delta| match delta {
        Delta::Part(part) => Some(part),
        _ => None,
    });
    Arc::new(Message::Assistant { parts: parts.collect() })
}

/// What was said can be told to the model that said it, and to every other.
fn assert_sent(speaker: &Provider, said: &Arc<Message>) {
    let results = said.calls().map(|call| ToolResult::failure(call.id.clone(), "no"));
    let results = Arc::new(Message::Tools { results: results.collect() });
    let user = |text: &str| Arc::new(Message::user(Origin::Person, text));
    let messages = [user("hi"), Arc::clone(said), results, user("and?")];
    let (path, manner) = (AgentPath::root(), Manner::default());
    let request = Request {
        agent: &path,
        turn: 2,
        system: "be brief",
        messages: &messages,
        tools: &[],
        choice: ToolChoice::Free,
        schema: None,
        max_output: 99,
        manner: &manner,
    };
    for provider in various() {
        let body = write(provider, None, &request, &mut WireLog::default()).body;
        let body = String::from_utf8_lossy(&body);
        assert!(is_json(body.as_bytes()), "{} gets no JSON: {body}", provider.name);
        assert_answered(&body);
        if provider.name == speaker.name {
            assert_verbatim(&body, speaker, said.parts());
        }
    }
}

/// Every call that is sent has its result, in the same order. Gemini's need no ids.
fn assert_answered(body: &str) {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return };
    let items = ["messages", "input"].iter().filter_map(|list| body[list].as_array()).flatten();
    let items = items.flat_map(|item| {
        let lists = ["content", "tool_calls"].iter().filter_map(|list| item[list].as_array());
        lists.flatten().chain([item])
    });
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for item in items {
        match item["type"].as_str() {
            Some("function" | "tool_use") => calls.push(&item["id"]),
            Some("function_call") => calls.push(&item["call_id"]),
            Some("function_call_output") => results.push(&item["call_id"]),
            Some("tool_result") => results.push(&item["tool_use_id"]),
            _ if item["role"] == "tool" => results.push(&item["tool_call_id"]),
            _ => {}
        }
    }
    assert_eq!(calls, results, "calls and their results in {body}");
}

/// A model's own words are sent as they came, in order. Thoughts that nothing came of are
/// not sent back, nor are texts without words; and Responses takes all of an answer or, where
/// something is not its own or has an id that does not fit, nothing.
fn assert_verbatim(body: &str, speaker: &Provider, parts: &[Part]) {
    let last = parts.iter().rposition(|part| !matches!(part, Part::Reasoning { .. }));
    let parts = &parts[..last.map_or(0, |last| last + 1)];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_own = |part: &Part| match part {
        Part::Call(ToolCall { id, .. }) if id.len() > 64 || !id.bytes().all(is_plain) => false,
        part => native(part).is_some(),
    };
    if speaker.name == "openai-responses" && !parts.iter().all(is_own) {
        return;
    }
    let mut rest = body;
    for part in parts {
        let is_blank = matches!(part, Part::Text { text, .. } if text.trim().is_empty());
        if let Some(Native { json, origin: from }) = native(part)
            && !(is_blank && speaker.name == "anthropic")
        {
            assert_eq!(**from, *origin(speaker));
            // Messages closes the last block of a message later, with a mark or without.
            let json = if speaker.name == "anthropic" { &json[..json.len() - 1] } else { json };
            let at = rest.find(json);
            rest = &rest[at.unwrap_or_else(|| panic!("{json} is not in {rest}")) + json.len()..];
        }
    }
}

fn native(part: &Part) -> Option<&Native> {
    match part {
        Part::Text { native, .. } | Part::Reasoning { native, .. } => native.as_ref(),
        Part::Call(call) => call.native.as_ref(),
        Part::Image(_) => None,
    }
}

/// What was said can be kept in a journal and is the same when it is read there.
fn assert_kept(message: Arc<Message>) {
    let said = EventKind::Said { message };
    let kept = serde_json::to_string(&said).unwrap_or_default();
    let read = serde_json::from_str(&kept).map_err(|error| error.to_string());
    assert_eq!(read, Ok(said), "{kept}");
}

fn kind(heard: &Heard) -> u64 {
    let kinds = heard.deltas.iter().map(|delta| match delta {
        Delta::Text(_) => "text".to_owned(),
        Delta::Reasoning(_) => "reasoning".to_owned(),
        Delta::Usage(_) => "usage".to_owned(),
        Delta::Stop(reason) => format!("{reason:?}"),
        Delta::Part(part) => {
            let (size, is_own) = (part.size().ilog2(), native(part).is_some());
            format!("{:?} {is_own} {size}", std::mem::discriminant(part))
        }
    });
    let mut kinds: Vec<_> = kinds.collect();
    kinds.dedup();
    let trouble = heard.error.as_ref().map(|error| format!("{:?}", error.trouble));
    hash((kinds, trouble))
}
