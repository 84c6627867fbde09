//! OpenAI's Responses. No bytes are moved here: a request becomes text; the [`reader`]
//! makes deltas of what comes back.
//!
//! A conversation is a list of items. Nothing is stored at the provider's: what the model
//! has thought comes back encrypted and is handed over again as it came.

mod reader;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use adjutant_core::{Image, Message, Part, Request, ToolCall, ToolChoice, ToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

use self::reader::Reader;
use super::{
    Dialect, Read, Speaker, cache_key, choosing, finish, fit_arguments, fit_id, fit_name, schema,
};
use crate::provider::Thinking;

/// The longest id of a call.
const LONGEST_ID: usize = 64;
/// The least that an answer can be limited to. Less is refused, and what goes beyond what
/// was asked for costs next to nothing.
const LEAST_OUTPUT: u64 = 16;

/// Responses.
#[derive(Debug)]
pub(crate) struct Responses;

impl Dialect for Responses {
    fn path(&self, _: &Speaker) -> String {
        "/responses".to_owned()
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn head(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": false,
            })
        });
        let tools: Vec<_> = tools.collect();
        let mut head = json!({ "model": speaker.model, "stream": true, "store": false });
        if thinks(&speaker.model) {
            head["include"] = json!(["reasoning.encrypted_content"]);
        }
        if !tools.is_empty() {
            head["tools"] = Value::from(tools);
        }
        if !request.system.is_empty() {
            head["instructions"] = request.system.into();
        }
        let mut head = head.to_string().into_bytes();
        head.pop();
        head.extend_from_slice(br#","input":["#);
        head
    }

    fn message(
        &self,
        speaker: &Speaker,
        before: &[Arc<Message>],
        message: &Message,
        bytes: &mut Vec<u8>,
    ) {
        let mut is_first = !before.iter().any(|message| has_items(speaker, message));
        for item in items(speaker, message) {
            if !std::mem::take(&mut is_first) {
                bytes.push(b',');
            }
            bytes.extend_from_slice(item.as_bytes());
        }
    }

    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        let mut tail = json!({ "max_output_tokens": request.max_output.max(LEAST_OUTPUT) });
        choosing(&mut tail, request);
        if request.choice == ToolChoice::None && !request.tools.is_empty() {
            tail["tool_choice"] = "none".into();
        }
        if speaker.quirks.takes_cache_key {
            tail["prompt_cache_key"] = cache_key(speaker, request).into();
        }
        if let Some(effort) = speaker.effort_of(request)
            && speaker.quirks.thinking != Thinking::None
            && thinks(&speaker.model)
        {
            // A summary is not asked for: not everybody may have it.
            tail["reasoning"] = json!({ "effort": effort.name() });
        }
        if let Some(mut format) = schema::format(speaker, request) {
            format["type"] = "json_schema".into();
            tail["text"] = json!({ "format": format });
        }
        finish(Vec::new(), b"]", &tail)
    }

    fn reader(&self, speaker: &Speaker, messages: usize) -> Box<dyn Read> {
        Box::new(Reader::new(speaker.clone(), messages))
    }
}

/// Reports whether a model can be asked for what it thinks. Those from before there was
/// such a thing refuse the whole request.
fn thinks(model: &str) -> bool {
    let model = model.strip_prefix("ft:").unwrap_or(model);
    let older = ["gpt-3", "gpt-4", "chatgpt-4", "gpt-5-chat"];
    !older.iter().any(|older| model.starts_with(older))
}

fn has_items(speaker: &Speaker, message: &Message) -> bool {
    match message {
        Message::User { .. } => true,
        Message::Tools { results } => !results.is_empty(),
        Message::Assistant { parts } => !answer(speaker, parts).is_empty(),
    }
}

fn items<'a>(speaker: &Speaker, message: &'a Message) -> Vec<Cow<'a, str>> {
    match message {
        Message::User { parts, .. } => vec![user(parts).to_string().into()],
        Message::Assistant { parts } => answer(speaker, parts),
        Message::Tools { results } => {
            results.iter().map(|result| output(result).to_string().into()).collect()
        }
    }
}

fn user(parts: &[Part]) -> Value {
    let content = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => (!text.is_empty()).then(|| input_text(text)),
        Part::Image(image) => Some(input_image(image)),
        Part::Reasoning { .. } | Part::Call(_) => None,
    });
    let mut content: Vec<_> = content.collect();
    if content.is_empty() {
        content.push(input_text(""));
    }
    json!({ "type": "message", "role": "user", "content": content })
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn input_image(Image { media_type, data }: &Image) -> Value {
    json!({ "type": "input_image", "image_url": format!("data:{media_type};base64,{data}") })
}

fn output(result: &ToolResult) -> Value {
    let ToolResult { call, text, images, failed, .. } = result;
    let text = if *failed { format!("Error: {text}") } else { text.clone() };
    let output = if images.is_empty() {
        Value::from(text)
    } else {
        [input_text(&text)].into_iter().chain(images.iter().map(input_image)).collect()
    };
    let call_id = fit_id(call, LONGEST_ID);
    json!({ "type": "function_call_output", "call_id": call_id, "output": output })
}

/// Returns the items of an answer: as they came, or all of them in plain form, since the
/// model's own are refused without the reasoning that led to them. Nor may reasoning come
/// last: what it led to is missing.
fn answer<'a>(speaker: &Speaker, parts: &'a [Part]) -> Vec<Cow<'a, str>> {
    if parts.iter().any(|part| own(speaker, part).is_none()) {
        return parts.iter().filter_map(plain).map(|item| item.to_string().into()).collect();
    }
    let mut items: Vec<_> = parts.iter().filter_map(|part| own(speaker, part)).collect();
    while items.pop_if(|item| kind(item).as_deref() == Some("reasoning")).is_some() {}
    items.into_iter().map(Cow::Borrowed).collect()
}

/// Returns a part in the model's own words. A call whose id has to be replaced has none: its
/// result would not be found.
fn own<'a>(speaker: &Speaker, part: &'a Part) -> Option<&'a str> {
    let native = match part {
        Part::Text { native, .. } | Part::Reasoning { native, .. } => native.as_ref(),
        Part::Call(call) if fit_id(&call.id, LONGEST_ID) == *call.id => call.native.as_ref(),
        Part::Call(_) | Part::Image(_) => None,
    };
    speaker.own(native)
}

fn plain(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } if !text.is_empty() => {
            let content = json!([{ "type": "output_text", "text": text }]);
            Some(json!({ "type": "message", "role": "assistant", "content": content }))
        }
        Part::Call(ToolCall { id, name, arguments, .. }) => Some(json!({
            "type": "function_call",
            "call_id": fit_id(id, LONGEST_ID),
            "name": fit_name(name),
            "arguments": fit_arguments(arguments).to_string(),
        })),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Image(_) => None,
    }
}

/// Returns what kind of item this is.
fn kind(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    serde_json::from_str::<Kind>(json).ok().map(|kind| kind.r#type)
}
