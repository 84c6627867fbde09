//! OpenAI's Chat Completions, which many servers speak. No bytes are moved here: a request
//! becomes text; the [`reader`] makes deltas of what comes back.

mod reader;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use adjutant_core::{Image, Message, Part, Request, ToolCall, ToolChoice, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use self::reader::Reader;
use super::{
    Dialect, Read, Speaker, cache_key, choosing, finish, fit_arguments, fit_id, fit_name, hash_of,
    put, schema,
};
use crate::provider::{Ids, Thinking, Thoughts};

/// The longest id of a call.
const LONGEST_ID: usize = 40;

/// Chat Completions.
#[derive(Debug)]
pub(crate) struct Chat;

impl Dialect for Chat {
    fn path(&self, _: &Speaker) -> String {
        "/chat/completions".to_owned()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
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
        if matches!(message, Message::Tools { results } if results.is_empty()) {
            return;
        }
        if !before.is_empty() {
            bytes.push(b',');
        }
        match message {
            Message::User { parts, .. } => put(bytes, &user(parts)),
            Message::Assistant { parts } => put(bytes, &Assistant::of(speaker, parts)),
            Message::Tools { results } => tools(bytes, speaker, results),
        }
    }

    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        tail(speaker, request)
    }

    fn reader(&self, speaker: &Speaker, messages: usize) -> Box<dyn Read> {
        Box::new(Reader::new(speaker.clone(), messages))
    }
}

fn head(model: &str, request: &Request<'_>) -> Vec<u8> {
    let tools = request.tools.iter().map(|tool| Declaration::of(tool)).collect();
    let mut head = Vec::new();
    put(&mut head, &Head { model, stream: true, tools });
    head.pop();
    head.extend_from_slice(br#","messages":["#);
    if !request.system.is_empty() {
        put(&mut head, &json!({ "role": "system", "content": request.system }));
        head.push(b',');
    }
    head
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    r#type: &'static str,
    function: Declared<'a>,
}

#[derive(Serialize)]
struct Declared<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Declaration<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = tool;
        Self { r#type: "function", function: Declared { name, description, parameters } }
    }
}

fn tail(speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
    let Speaker { quirks, .. } = speaker;
    let mut tail = json!({});
    choosing(&mut tail, request);
    tail[quirks.max_tokens] = request.max_output.into();
    if quirks.reports_usage {
        tail["stream_options"] = json!({ "include_usage": true });
    }
    if request.choice == ToolChoice::None && !request.tools.is_empty() {
        tail["tool_choice"] = "none".into();
    }
    if quirks.takes_cache_key {
        tail["prompt_cache_key"] = cache_key(speaker, request).into();
    }
    if let Some(effort) = speaker.effort_of(request)
        && quirks.thinking != Thinking::None
    {
        tail["reasoning_effort"] = effort.name().into();
    }
    if let Some(format) = schema::format(speaker, request) {
        tail["response_format"] = json!({ "type": "json_schema", "json_schema": format });
    }
    finish(Vec::new(), b"]", &tail)
}

fn user(parts: &[Part]) -> Value {
    let has_image = parts.iter().any(|part| matches!(part, Part::Image(_)));
    let content = if has_image {
        parts.iter().filter_map(content).collect()
    } else {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        Value::from(texts.collect::<Vec<_>>().join("\n"))
    };
    json!({ "role": "user", "content": content })
}

fn content(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
        Part::Image(picture) => Some(image(picture)),
        Part::Reasoning { .. } | Part::Call(_) => None,
    }
}

fn image(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    json!({ "type": "image_url", "image_url": { "url": url } })
}

#[derive(Serialize)]
struct Answered<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

/// Results are text and stand together; what they show follows as words of the user's.
fn tools(bytes: &mut Vec<u8>, speaker: &Speaker, results: &[ToolResult]) {
    for (place, ToolResult { call, text, failed, .. }) in results.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        let tool_call_id = fitted(speaker.quirks.ids, call);
        let content = if *failed {
            Cow::Owned(format!("Error: {text}"))
        } else {
            Cow::Borrowed(text.as_str())
        };
        put(bytes, &Answered { role: "tool", tool_call_id, content });
    }
    let images: Vec<_> = results.iter().flat_map(|result| &result.images).map(image).collect();
    if !images.is_empty() {
        bytes.push(b',');
        put(bytes, &json!({ "role": "user", "content": images }));
    }
}

/// Returns the id of a call, or of what it resulted in, as a server takes it.
fn fitted(ids: Ids, id: &str) -> Cow<'_, str> {
    let is_nine = || id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match ids {
        Ids::Nine if is_nine() => Cow::Borrowed(id),
        Ids::Nine => Cow::Owned(format!("{:09x}", hash_of(id) >> 28)),
        // Of whatever letters: some models name a call after its tool and look for that.
        Ids::Short if !id.is_empty() && id.len() <= LONGEST_ID => Cow::Borrowed(id),
        Ids::Short => fit_id(id, LONGEST_ID),
    }
}

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

impl<'a> Assistant<'a> {
    fn of(speaker: &Speaker, parts: &'a [Part]) -> Self {
        let (mut text, mut thoughts, mut tool_calls) = (String::new(), None, Vec::new());
        for part in parts {
            match part {
                Part::Text { text: more, .. } => text.push_str(more),
                Part::Call(call) => tool_calls.push(Call::of(speaker.quirks.ids, call)),
                Part::Reasoning { native, .. } => {
                    thoughts = thoughts.or_else(|| raw(speaker.own(native.as_ref())?));
                }
                Part::Image(_) => {}
            }
        }
        let (reasoning_content, reasoning_details) = match speaker.quirks.thoughts {
            Thoughts::All => (thoughts.or_else(|| raw(r#""""#)), None),
            Thoughts::Given => (None, thoughts),
        };
        // Servers refuse a message with neither words nor calls.
        let is_silent = text.is_empty() && !tool_calls.is_empty();
        let content = (!is_silent).then_some(text);
        Self { role: "assistant", content, reasoning_content, reasoning_details, tool_calls }
    }
}

fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}

impl<'a> Call<'a> {
    fn of(ids: Ids, call: &'a ToolCall) -> Self {
        let arguments = fit_arguments(&call.arguments).to_string();
        let function = Function { name: fit_name(&call.name), arguments };
        Self { id: fitted(ids, &call.id), r#type: "function", function }
    }
}
