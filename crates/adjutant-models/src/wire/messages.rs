//! Anthropic's Messages. No bytes are moved here: a request becomes text, the data of events
//! becomes deltas.
//!
//! The provider keeps what a request begins with, up to a block that bears a mark, and finds it
//! again when a later request begins with the same. So what is sent only grows, and the last
//! block of the log stays open: what follows closes it, with a mark or without.
//!
//! ```text
//!   {"role":"user","content":[{…},{…                                    the log
//!                                   ,"cache_control":{…}}]}],…          the tail
//!                                   },{…                                a next block
//!                                   }]},{"role":"assistant","content":[{…  a next message
//! ```

mod reader;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use adjutant_core::{Image, Message, Part, Request, ToolCall, ToolChoice, ToolResult};
use serde_json::{Map, Value, json};

use self::reader::Reader;
use super::{Dialect, Read, Speaker, choosing, finish, fit_arguments, fit_id, fit_name, put};
use crate::{
    effort::budget,
    provider::{Schema, Thinking},
};

const USER: &str = "user";
const ASSISTANT: &str = "assistant";
const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;
/// Stands for the user's words where there are none: a conversation has to begin and to end with
/// some.
const GO_ON: &str = "Go on.";
/// Stands for a result that says nothing, which may not be empty.
const NO_OUTPUT: &str = "(no output)";
const LONGEST_ID: usize = 64;

/// Messages.
#[derive(Debug)]
pub(crate) struct Messages;

impl Dialect for Messages {
    fn path(&self, _: &Speaker) -> String {
        "/messages".to_owned()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn head(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        head(&speaker.model, request)
    }

    fn message(
        &self,
        speaker: &Speaker,
        before: &[Arc<Message>],
        message: &Message,
        bytes: &mut Vec<u8>,
    ) {
        let (mut last, role) = (last_role(speaker, before), role(message));
        let blocks = blocks(speaker, message);
        if last.is_none() && (role == ASSISTANT || blocks.is_empty()) {
            last = add(bytes, last, USER, Block::Text(GO_ON));
        }
        for block in blocks {
            last = add(bytes, last, role, block);
        }
    }

    fn mark(&self) -> &'static [u8] {
        MARK
    }

    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let last = last_role(speaker, request.messages);
        if last != Some(USER) {
            add(&mut bytes, last, USER, Block::Text(GO_ON));
        }
        bytes.extend_from_slice(MARK);
        finish(bytes, b"}]}]", &settings(speaker, request))
    }

    fn reader(&self, speaker: &Speaker, messages: usize) -> Box<dyn Read> {
        Box::new(Reader::new(speaker.clone(), messages))
    }
}

/// Tools come before the system prompt in what the provider keeps: one mark is enough for both.
fn head(model: &str, request: &Request<'_>) -> Vec<u8> {
    let mut tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters,
            })
        })
        .collect();
    let mark = json!({ "type": "ephemeral" });
    let mut head = json!({ "model": model, "stream": true });
    if has_words(request.system) {
        let system = json!({ "type": "text", "text": request.system, "cache_control": mark });
        head["system"] = json!([system]);
    } else if let Some(last) = tools.last_mut() {
        last["cache_control"] = mark;
    }
    if !tools.is_empty() {
        head["tools"] = tools.into();
    }
    let mut head = head.to_string().into_bytes();
    head.pop();
    head.extend_from_slice(br#","messages":["#);
    head
}

/// Returns what may differ from turn to turn.
fn settings(speaker: &Speaker, request: &Request<'_>) -> Value {
    let mut settings = json!({ "max_tokens": request.max_output });
    choosing(&mut settings, request);
    if request.choice == ToolChoice::None && !request.tools.is_empty() {
        settings["tool_choice"] = json!({ "type": "none" });
    }
    let mut output = Map::new();
    match (speaker.effort_of(request), speaker.quirks.thinking) {
        (Some(effort), Thinking::Level) => {
            // Newer models show nothing of what they think unless they are asked to.
            settings["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
            output.insert("effort".to_owned(), effort.name().into());
        }
        (Some(effort), Thinking::Budget) => {
            if let Some(budget) = budget(effort, request.max_output) {
                settings["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
            }
        }
        (None, _) | (Some(_), Thinking::None) => {}
    }
    let schema = request.schema.and_then(schema::kept);
    if let (Some(schema), Schema::Native) = (schema, speaker.quirks.schema) {
        let format = json!({ "type": "json_schema", "schema": schema });
        output.insert("format".to_owned(), format);
    }
    if !output.is_empty() {
        settings["output_config"] = output.into();
    }
    settings
}

/// Returns whose words a message counts as.
fn role(message: &Message) -> &'static str {
    match message {
        Message::User { .. } | Message::Tools { .. } => USER,
        Message::Assistant { .. } => ASSISTANT,
    }
}

/// Returns whose words the log of these messages ends with.
fn last_role(speaker: &Speaker, messages: &[Arc<Message>]) -> Option<&'static str> {
    let said = messages.iter().rfind(|message| !blocks(speaker, message).is_empty());
    said.map(|message| role(message)).or((!messages.is_empty()).then_some(USER))
}

/// Adds a block to a log that ends with somebody's words. Words of one role that follow one
/// another are one message, since the roles have to take turns.
fn add(
    bytes: &mut Vec<u8>,
    last: Option<&str>,
    role: &'static str,
    block: Block<'_>,
) -> Option<&'static str> {
    let closing = match last {
        None => "",
        Some(last) if last == role => "},",
        Some(_) => "}]},",
    };
    bytes.extend_from_slice(closing.as_bytes());
    if last != Some(role) {
        bytes.extend_from_slice(format!(r#"{{"role":"{role}","content":["#).as_bytes());
    }
    block.put(bytes);
    Some(role)
}

/// A piece of a message as it is sent.
#[derive(Clone, Copy)]
enum Block<'a> {
    Text(&'a str),
    /// Words of the model as it wrote them, but for the last brace.
    Words(&'a str),
    /// A thought of the model as it wrote it, but for the last brace. It cannot bear a mark.
    Thought(&'a str),
    Image(&'a Image),
    Call(&'a ToolCall),
    Result(&'a ToolResult),
}

impl Block<'_> {
    /// Writes the block but for its last brace.
    fn put(self, bytes: &mut Vec<u8>) {
        let block = match self {
            Self::Words(json) | Self::Thought(json) => {
                return bytes.extend_from_slice(json.as_bytes());
            }
            Self::Text(words) => text(words),
            Self::Image(picture) => image(picture),
            Self::Call(request) => call(request),
            Self::Result(answer) => result(answer),
        };
        put(bytes, &block);
        bytes.pop();
    }
}

/// Returns what is sent of a message. Texts without words are refused, so they are left out.
fn blocks<'a>(speaker: &Speaker, message: &'a Message) -> Vec<Block<'a>> {
    match message {
        Message::User { parts, .. } => parts.iter().filter_map(given).collect(),
        Message::Assistant { parts } => {
            let mut blocks: Vec<_> = parts.iter().filter_map(|part| said(speaker, part)).collect();
            // An answer may not end with a thought.
            while blocks.pop_if(|block| matches!(block, Block::Thought(_))).is_some() {}
            blocks
        }
        Message::Tools { results } => results.iter().map(Block::Result).collect(),
    }
}

fn given(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Text { text, .. } => has_words(text).then_some(Block::Text(text)),
        Part::Image(image) => Some(Block::Image(image)),
        Part::Reasoning { .. } | Part::Call(_) => None,
    }
}

fn said<'a>(speaker: &Speaker, part: &'a Part) -> Option<Block<'a>> {
    let own = |native| speaker.own(native)?.strip_suffix('}');
    match part {
        Part::Text { text, native } if has_words(text) => {
            Some(own(native.as_ref()).map_or(Block::Text(text), Block::Words))
        }
        Part::Reasoning { native, .. } => own(native.as_ref()).map(Block::Thought),
        Part::Call(call) => Some(Block::Call(call)),
        Part::Text { .. } | Part::Image(_) => None,
    }
}

fn has_words(text: &str) -> bool {
    !text.trim().is_empty()
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

fn image(Image { media_type, data }: &Image) -> Value {
    let source = json!({ "type": "base64", "media_type": media_type, "data": data });
    json!({ "type": "image", "source": source })
}

fn call(ToolCall { id, name, arguments, .. }: &ToolCall) -> Value {
    json!({
        "type": "tool_use",
        "id": fit_id(id, LONGEST_ID),
        "name": fit_name(name),
        "input": fit_arguments(arguments),
    })
}

fn result(ToolResult { call, text: said, images, failed, .. }: &ToolResult) -> Value {
    let mut result = json!({ "type": "tool_result", "tool_use_id": fit_id(call, LONGEST_ID) });
    result["content"] = if images.is_empty() {
        (if has_words(said) { said } else { NO_OUTPUT }).into()
    } else {
        has_words(said).then(|| text(said)).into_iter().chain(images.iter().map(image)).collect()
    };
    if *failed {
        result["is_error"] = true.into();
    }
    result
}
