//! Google's Gemini. No bytes are moved here: a request becomes text; the [`reader`] makes
//! deltas of what comes back.
//!
//! A content has all that one side says before the other speaks, so it is not known to be
//! over when it is written: the next message closes it, or the tail.

mod reader;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use adjutant_core::{
    Effort, Image, Manner, Message, Part, Request, ToolCall, ToolChoice, ToolResult,
};
use serde_json::{Value, json};

use self::reader::Reader;
use super::{Dialect, Read, Speaker, finish, fit_arguments, fit_name, put};
use crate::{
    effort::budget,
    provider::{Schema, Thinking},
};

/// Gemini's `generateContent`, as a stream.
#[derive(Debug)]
pub(crate) struct Gemini;

/// Stands in for the signature of a call that another model made; without one, Gemini 3
/// refuses the call.
const FOREIGN: &str = "skip_thought_signature_validator";

const USER: &str = "user";
const MODEL: &str = "model";

impl Dialect for Gemini {
    fn path(&self, speaker: &Speaker) -> String {
        format!("/models/{}:streamGenerateContent?alt=sse", escaped(&speaker.model))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn head(&self, _: &Speaker, request: &Request<'_>) -> Vec<u8> {
        let declarations = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            })
        });
        let declarations: Vec<_> = declarations.collect();
        let mut head = b"{".to_vec();
        if !declarations.is_empty() {
            head.extend_from_slice(br#""tools":"#);
            put(&mut head, &json!([{ "functionDeclarations": declarations }]));
            head.push(b',');
        }
        if !request.system.is_empty() {
            head.extend_from_slice(br#""systemInstruction":"#);
            put(&mut head, &json!({ "parts": [{ "text": request.system }] }));
            head.push(b',');
        }
        head.extend_from_slice(br#""contents":["#);
        head
    }

    fn message(
        &self,
        speaker: &Speaker,
        before: &[Arc<Message>],
        message: &Message,
        bytes: &mut Vec<u8>,
    ) {
        let (role, pieces) = (role(message), pieces(speaker, message));
        if before.is_empty() {
            // The user has to speak first, and has to say something.
            bytes.extend_from_slice(br#"{"role":"user","parts":["#);
            if role == USER && !pieces.is_empty() {
                return put_pieces(bytes, speaker, before, &pieces);
            }
            put(bytes, &json!({ "text": "(no words)" }));
        }
        if pieces.is_empty() {
            return;
        }
        if role == last_role(speaker, before) {
            bytes.push(b',');
        } else {
            bytes.extend_from_slice(format!(r#"]}},{{"role":"{role}","parts":["#).as_bytes());
        }
        put_pieces(bytes, speaker, before, &pieces);
    }

    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        let quirks = &speaker.quirks;
        let mut config = json!({ "maxOutputTokens": request.max_output });
        let Manner { temperature, top_p, .. } = request.manner;
        for (name, value) in [("temperature", temperature), ("topP", top_p)] {
            if let Some(value) = value {
                config[name] = Value::Number(value.clone());
            }
        }
        let thinking = |effort| thinking(quirks.thinking, effort, request.max_output);
        if let Some(thinking) = speaker.effort_of(request).and_then(thinking) {
            config["thinkingConfig"] = thinking;
        }
        if let Some(schema) = request.schema
            && (quirks.schema == Schema::Native || request.tools.is_empty())
        {
            config["responseMimeType"] = "application/json".into();
            config["responseJsonSchema"] = schema.clone();
        }
        let mut tail = json!({ "generationConfig": config });
        if request.choice == ToolChoice::None && !request.tools.is_empty() {
            tail["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
        }
        finish(Vec::new(), b"]}]", &tail)
    }

    fn reader(&self, speaker: &Speaker, messages: usize) -> Box<dyn Read> {
        Box::new(Reader::new(speaker.clone(), messages))
    }
}

/// Makes a name fit to be one step of a URL's path.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn thinking(quirk: Thinking, effort: Effort, max_output: u64) -> Option<Value> {
    let mut config = json!({ "includeThoughts": true });
    match quirk {
        Thinking::None => return None,
        Thinking::Level => config["thinkingLevel"] = effort.name().into(),
        // Without room for a budget, the model is left to find its own.
        Thinking::Budget => {
            if let Some(budget) = budget(effort, max_output) {
                config["thinkingBudget"] = budget.into();
            }
        }
    }
    Some(config)
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User { .. } | Message::Tools { .. } => USER,
        Message::Assistant { .. } => MODEL,
    }
}

/// Returns whose content is open. Messages without anything to send are not there.
fn last_role(speaker: &Speaker, before: &[Arc<Message>]) -> &'static str {
    let last = before.iter().rfind(|message| !pieces(speaker, message).is_empty());
    last.map_or(USER, |message| role(message))
}

/// What becomes one part of a content.
enum Piece<'a> {
    /// The model's own words, as they came.
    Own(&'a str),
    Text(&'a str),
    Image(&'a Image),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
}

fn pieces<'a>(speaker: &Speaker, message: &'a Message) -> Vec<Piece<'a>> {
    match message {
        Message::User { parts, .. } | Message::Assistant { parts } => {
            parts.iter().filter_map(|part| piece(speaker, part)).collect()
        }
        // All results have to come before anything else.
        Message::Tools { results } => {
            let images = results.iter().flat_map(|result| &result.images).map(Piece::Image);
            results.iter().map(Piece::Result).chain(images).collect()
        }
    }
}

fn piece<'a>(speaker: &Speaker, part: &'a Part) -> Option<Piece<'a>> {
    let native = match part {
        Part::Text { native, .. } | Part::Reasoning { native, .. } => native.as_ref(),
        Part::Call(call) => call.native.as_ref(),
        Part::Image(_) => None,
    };
    if let Some(json) = speaker.own(native) {
        return Some(Piece::Own(json));
    }
    match part {
        Part::Text { text, .. } => (!text.is_empty()).then_some(Piece::Text(text)),
        Part::Image(image) => Some(Piece::Image(image)),
        Part::Call(call) => Some(Piece::Call(call)),
        Part::Reasoning { .. } => None,
    }
}

fn put_pieces(
    bytes: &mut Vec<u8>,
    speaker: &Speaker,
    before: &[Arc<Message>],
    pieces: &[Piece<'_>],
) {
    let first_call = pieces.iter().position(|piece| matches!(piece, Piece::Call(_)));
    for (place, piece) in pieces.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        match piece {
            Piece::Own(json) => bytes.extend_from_slice(json.as_bytes()),
            Piece::Text(text) => put(bytes, &json!({ "text": text })),
            Piece::Image(Image { media_type, data }) => {
                put(bytes, &json!({ "inlineData": { "mimeType": media_type, "data": data } }));
            }
            Piece::Call(call) => {
                let mut part = foreign_call(call);
                if first_call == Some(place) {
                    part["thoughtSignature"] = FOREIGN.into();
                }
                put(bytes, &part);
            }
            Piece::Result(result) => put(bytes, &response(speaker, before, result)),
        }
    }
}

fn foreign_call(call: &ToolCall) -> Value {
    let (name, args) = (fit_name(&call.name), fit_arguments(&call.arguments));
    json!({ "functionCall": { "name": name, "args": args } })
}

/// A result goes by the name that its call was sent with, and by the id that the model itself
/// gave the call, if it did.
fn response(speaker: &Speaker, before: &[Arc<Message>], result: &ToolResult) -> Value {
    let mut calls = before.iter().rev().flat_map(|message| message.calls());
    let call = calls.find(|call| call.id == result.call);
    let name = call.map_or(Cow::Borrowed("tool"), |call| {
        let is_own = speaker.own(call.native.as_ref()).is_some();
        if is_own { Cow::Borrowed(call.name.as_str()) } else { fit_name(&call.name) }
    });
    let kind = if result.failed { "error" } else { "output" };
    let mut response = json!({ "name": name, "response": { kind: result.text } });
    if let Some(id) = call.and_then(|call| own_id(speaker, call)) {
        response["id"] = id;
    }
    json!({ "functionResponse": response })
}

fn own_id(speaker: &Speaker, call: &ToolCall) -> Option<Value> {
    let part: Value = serde_json::from_str(speaker.own(call.native.as_ref())?).ok()?;
    part.pointer("/functionCall/id").cloned()
}
