//! OpenAI's Chat Completions, which many servers speak. No bytes are moved here: a request
//! becomes text, the data of events becomes deltas.

use std::sync::Arc;

use adjutant_core::{
    Delta, Image, Message, ModelError, Part, Request, StopReason, ToolCall, ToolChoice, ToolResult,
    Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Dialect, Read, Speaker, made_up_id, parse, put};

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
        _: &Speaker,
        before: &[Arc<Message>],
        message: &Message,
        bytes: &mut Vec<u8>,
    ) {
        if !before.is_empty() {
            bytes.push(b',');
        }
        match message {
            Message::User { parts, .. } => put(bytes, &user(parts)),
            Message::Assistant { parts } => put(bytes, &Assistant::of(parts)),
            Message::Tools { results } => tools(bytes, results),
        }
    }

    fn tail(&self, speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
        tail(speaker, request)
    }

    fn reader(&self, _: &Speaker, messages: usize) -> Box<dyn Read> {
        Box::new(Reader { messages, ..Reader::default() })
    }
}

fn head(model: &str, request: &Request<'_>) -> Vec<u8> {
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| {
            let function = json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            });
            json!({ "type": "function", "function": function })
        })
        .collect();
    let mut head = json!({ "model": model, "stream": true });
    if !tools.is_empty() {
        head["tools"] = Value::from(tools);
    }
    let mut head = head.to_string().into_bytes();
    head.pop();
    head.extend_from_slice(br#","messages":["#);
    if !request.system.is_empty() {
        put(&mut head, &json!({ "role": "system", "content": request.system }));
        head.push(b',');
    }
    head
}

fn tail(speaker: &Speaker, request: &Request<'_>) -> Vec<u8> {
    let Speaker { quirks, effort, .. } = speaker;
    let mut tail = json!({});
    tail[quirks.max_tokens] = request.max_output.into();
    if quirks.reports_usage {
        tail["stream_options"] = json!({ "include_usage": true });
    }
    if request.choice == ToolChoice::None && !request.tools.is_empty() {
        tail["tool_choice"] = "none".into();
    }
    if let Some(effort) = effort {
        tail["reasoning_effort"] = effort.name().into();
    }
    let mut bytes = b"],".to_vec();
    bytes.extend_from_slice(&tail.to_string().as_bytes()[1..]);
    bytes
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

/// Results are text and stand together; what they show follows as words of the user's.
fn tools(bytes: &mut Vec<u8>, results: &[ToolResult]) {
    for (place, ToolResult { call, text, failed, .. }) in results.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        let content = if *failed { format!("Error: {text}") } else { text.clone() };
        put(bytes, &json!({ "role": "tool", "tool_call_id": call, "content": content }));
    }
    let images: Vec<_> = results.iter().flat_map(|result| &result.images).map(image).collect();
    if !images.is_empty() {
        bytes.push(b',');
        put(bytes, &json!({ "role": "user", "content": images }));
    }
}

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

impl<'a> Assistant<'a> {
    fn of(parts: &'a [Part]) -> Self {
        let mut text = String::new();
        let mut tool_calls = Vec::new();
        for part in parts {
            match part {
                Part::Text { text: more, .. } => text.push_str(more),
                Part::Call(call) => tool_calls.push(Call::of(call)),
                Part::Reasoning { .. } | Part::Image(_) => {}
            }
        }
        // Servers refuse a message with neither words nor calls.
        let is_silent = text.is_empty() && !tool_calls.is_empty();
        Self { role: "assistant", content: (!is_silent).then_some(text), tool_calls }
    }
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let arguments = match &call.arguments {
            Value::String(text) => text.clone(),
            arguments => arguments.to_string(),
        };
        let function = Function { name: &call.name, arguments };
        Self { id: &call.id, r#type: "function", function }
    }
}

/// Reads the data of events.
#[derive(Debug, Default)]
struct Reader {
    /// How long the conversation was that is answered.
    messages: usize,
    text: String,
    reasoning: String,
    calls: Vec<Draft>,
    stop: Option<StopReason>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Fragment,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Fragment {
    #[serde(default)]
    content: Option<String>,
    #[serde(default, alias = "reasoning_content")]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallFragment>>,
}

#[derive(Deserialize)]
struct CallFragment {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: FunctionFragment,
}

#[derive(Default, Deserialize)]
struct FunctionFragment {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning = tokens.completion_tokens_details.and_then(|it| it.reasoning_tokens);
        Self {
            input: tokens.prompt_tokens,
            output: tokens.completion_tokens,
            cache_read: cached.unwrap_or(0),
            cache_write: 0,
            reasoning: reasoning.unwrap_or(0),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.is_over || data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.finish(deltas);
            return Ok(());
        }
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(super::error_in_stream(&error));
        }
        for choice in chunk.choices {
            self.take(choice, deltas);
        }
        deltas.extend(chunk.usage.map(|tokens| Delta::Usage(tokens.into())));
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        // Some servers say no more than why they stopped.
        if self.stop.is_some() && !self.is_over {
            self.finish(deltas);
        }
    }
}

impl Reader {
    fn take(&mut self, choice: Choice, deltas: &mut Vec<Delta>) {
        let Fragment { content, reasoning, tool_calls } = choice.delta;
        if let Some(fragment) = reasoning.filter(|fragment| !fragment.is_empty()) {
            self.reasoning.push_str(&fragment);
            deltas.push(Delta::Reasoning(fragment));
        }
        if let Some(fragment) = content.filter(|fragment| !fragment.is_empty()) {
            self.text.push_str(&fragment);
            deltas.push(Delta::Text(fragment));
        }
        for fragment in tool_calls.into_iter().flatten() {
            self.take_call(fragment);
        }
        if let Some(reason) = choice.finish_reason {
            self.stop = Some(match reason.as_str() {
                "tool_calls" | "function_call" => StopReason::Calls,
                "length" => StopReason::Length,
                "content_filter" => StopReason::Filtered,
                _ => StopReason::Done,
            });
        }
    }

    /// A fragment belongs to the call of its index; without one, to the call of its id or
    /// to the last.
    fn take_call(&mut self, fragment: CallFragment) {
        let CallFragment { index, id, function } = fragment;
        let is_new_id =
            |draft: &Draft| id.as_ref().is_some_and(|id| !id.is_empty() && *id != draft.id);
        let place = match index {
            Some(_) => self.calls.iter().position(|draft| draft.index == index),
            None => self.calls.len().checked_sub(1).filter(|last| !is_new_id(&self.calls[*last])),
        };
        let place = place.unwrap_or_else(|| {
            self.calls.push(Draft { index, ..Draft::default() });
            self.calls.len() - 1
        });
        let draft = &mut self.calls[place];
        if let Some(id) = id
            && draft.id.is_empty()
        {
            draft.id = id;
        }
        draft.name.push_str(&function.name.unwrap_or_default());
        draft.arguments.push_str(&function.arguments.unwrap_or_default());
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) {
        self.is_over = true;
        let (text, reasoning) =
            (std::mem::take(&mut self.text), std::mem::take(&mut self.reasoning));
        if !reasoning.is_empty() {
            deltas.push(Delta::Part(Part::Reasoning { text: reasoning, native: None }));
        }
        if !text.is_empty() {
            deltas.push(Delta::Part(Part::text(text)));
        }
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        for (place, draft) in calls.into_iter().enumerate() {
            deltas.push(Delta::Part(Part::Call(draft.call(self.messages, place))));
        }
        let natural = if has_calls { StopReason::Calls } else { StopReason::Done };
        let stop = match self.stop {
            Some(StopReason::Done) | None => natural,
            Some(stop) => stop,
        };
        deltas.push(Delta::Stop(stop));
    }
}

impl Draft {
    fn call(self, messages: usize, place: usize) -> ToolCall {
        let Self { id, name, arguments, .. } = self;
        // A server that gives no id still wants one back.
        let id = if id.is_empty() { made_up_id(messages, place) } else { id };
        let arguments = super::arguments(arguments);
        ToolCall { id: id.into(), name, arguments, native: None }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::{AgentPath, Effect, Origin, ToolSpec, Trouble, WireLog};

    use super::*;
    use crate::provider::USUAL;

    fn speaker() -> Speaker {
        let (origin, model) = ("test/m".into(), "m".to_owned());
        Speaker { origin, model, effort: None, quirks: USUAL }
    }

    fn call(id: &str, arguments: Value) -> Part {
        let (id, name) = (id.into(), "read_file".to_owned());
        Part::Call(ToolCall { id, name, arguments, native: None })
    }

    fn conversation() -> Vec<Arc<Message>> {
        let picture = Image { media_type: "image/png".to_owned(), data: "AAAA".into() };
        let calls = vec![
            Part::Reasoning { text: "hm".to_owned(), native: None },
            Part::text("let me look"),
            call("c1", json!({ "path": "a" })),
            call("c2", json!("not json")),
        ];
        let seen = ToolResult {
            call: "c1".into(),
            text: "a picture".to_owned(),
            images: vec![picture.clone()],
            failed: false,
            facts: Vec::new(),
        };
        let failed = ToolResult::failure("c2".into(), "no");
        let words = vec![Part::text("what is"), Part::Image(picture)];
        [
            Message::User { origin: Origin::Person, parts: words },
            Message::Assistant { parts: calls },
            Message::Tools { results: vec![seen, failed] },
            Message::Assistant { parts: vec![call("c3", json!({}))] },
            Message::user(Origin::Parent, "go \"on\"\n"),
        ]
        .map(Arc::new)
        .to_vec()
    }

    fn body(system: &str, choice: ToolChoice, messages: &[Arc<Message>]) -> Value {
        let tool = ToolSpec {
            name: "read_file".to_owned(),
            description: "reads".to_owned(),
            parameters: json!({ "type": "object" }),
            effect: Effect::Read,
        };
        let (agent, tools) = (AgentPath::root(), [Arc::new(tool)]);
        let tools = &tools[..];
        let (turn, schema, max_output) = (1, None, 99);
        let request =
            Request { agent: &agent, turn, system, messages, tools, choice, schema, max_output };
        let (mut wire, speaker) = (WireLog::default(), speaker());
        wire.extend(&"chat".into(), messages, |before, message, bytes| {
            Chat.message(&speaker, before, message, bytes);
        });
        let messages = wire.chunks().concat();
        let body = [Chat.head(&speaker, &request), messages, Chat.tail(&speaker, &request)];
        serde_json::from_slice(&body.concat()).unwrap()
    }

    #[test]
    fn a_request_is_what_the_documentation_asks_for() {
        let url = json!({ "url": "data:image/png;base64,AAAA" });
        let picture = json!({ "type": "image_url", "image_url": url });
        let function = |arguments: &str| json!({ "name": "read_file", "arguments": arguments });
        let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": function(arguments) });
        let calls = [call("c1", r#"{"path":"a"}"#), call("c2", "not json")];
        let tool = json!({
            "type": "function",
            "function": {
                "name": "read_file", "description": "reads", "parameters": { "type": "object" },
            },
        });
        let expected = json!({
            "model": "m",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 99,
            "tools": [tool],
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": [{ "type": "text", "text": "what is" }, picture] },
                { "role": "assistant", "content": "let me look", "tool_calls": calls },
                { "role": "tool", "tool_call_id": "c1", "content": "a picture" },
                { "role": "tool", "tool_call_id": "c2", "content": "Error: no" },
                { "role": "user", "content": [picture] },
                { "role": "assistant", "content": null, "tool_calls": [call("c3", "{}")] },
                { "role": "user", "content": "go \"on\"\n" },
            ],
        });
        assert_eq!(body("be brief", ToolChoice::Free, &conversation()), expected);
    }

    #[test]
    fn without_a_system_prompt_there_is_no_system_message() {
        let messages = [Arc::new(Message::user(Origin::Person, "hi"))];
        let body = body("", ToolChoice::None, &messages);
        assert_eq!(body["messages"], json!([{ "role": "user", "content": "hi" }]));
        assert_eq!(body["tool_choice"], "none");
    }

    fn read(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
        let (mut reader, mut deltas) = (Reader::default(), Vec::new());
        for event in events {
            reader.read(event.to_string().as_bytes(), &mut deltas)?;
        }
        reader.end(&mut deltas);
        Ok(deltas)
    }

    #[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
    fn chunk(delta: Value, finish: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
    }

    #[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
    fn fragment(index: Value, id: Value, arguments: &str) -> Value {
        let function =
            json!({ "name": if id.is_null() { "" } else { "look" }, "arguments": arguments });
        chunk(
            json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }),
            json!(null),
        )
    }

    fn calls(deltas: &[Delta]) -> Vec<(&str, &str, Value)> {
        let calls = deltas.iter().filter_map(|delta| match delta {
            Delta::Part(Part::Call(call)) => {
                Some((&*call.id, call.name.as_str(), call.arguments.clone()))
            }
            _ => None,
        });
        calls.collect()
    }

    #[test]
    fn words_thoughts_and_usage_are_read_as_they_come() {
        let usage = json!({
            "prompt_tokens": 100, "completion_tokens": 20,
            "prompt_tokens_details": { "cached_tokens": 64 },
            "completion_tokens_details": { "reasoning_tokens": 5 },
        });
        let deltas = read(&[
            chunk(json!({ "role": "assistant", "content": "" }), json!(null)),
            chunk(json!({ "reasoning_content": "hm" }), json!(null)),
            chunk(json!({ "content": "four" }), json!(null)),
            chunk(json!({ "content": "teen" }), json!(null)),
            chunk(json!({}), json!("stop")),
            json!({ "choices": [], "usage": usage }),
        ]);
        let usage = Usage { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 5 };
        let expected = [
            Delta::Reasoning("hm".to_owned()),
            Delta::Text("four".to_owned()),
            Delta::Text("teen".to_owned()),
            Delta::Usage(usage),
            Delta::Part(Part::Reasoning { text: "hm".to_owned(), native: None }),
            Delta::Part(Part::text("fourteen")),
            Delta::Stop(StopReason::Done),
        ];
        assert_eq!(deltas.unwrap(), expected);
    }

    #[test]
    fn calls_are_put_together_whatever_the_server_calls_their_index() {
        for (first, second) in [(json!(0), json!(1)), (json!(1), json!(2))] {
            let deltas = read(&[
                fragment(first.clone(), json!("a"), "{\"x\":"),
                fragment(second.clone(), json!("b"), "{}"),
                fragment(first, json!(null), "1}"),
                chunk(json!({}), json!("tool_calls")),
            ]);
            let deltas = deltas.unwrap();
            let expected = [("a", "look", json!({ "x": 1 })), ("b", "look", json!({}))];
            assert_eq!(calls(&deltas), expected);
            assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
        }
        let without_index = read(&[
            fragment(json!(null), json!("a"), "{\"x\":"),
            fragment(json!(null), json!(null), "1}"),
            fragment(json!(null), json!("b"), "{}"),
            chunk(json!({}), json!("stop")),
        ]);
        let deltas = without_index.unwrap();
        assert_eq!(calls(&deltas), [("a", "look", json!({ "x": 1 })), ("b", "look", json!({}))]);
        assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
    }

    #[test]
    fn half_an_answer_is_not_taken_for_a_whole_one() {
        let deltas = read(&[chunk(json!({ "content": "half" }), json!(null))]).unwrap();
        assert_eq!(deltas, [Delta::Text("half".to_owned())]);
    }

    #[test]
    fn a_call_that_was_cut_off_stays_text() {
        let deltas = read(&[
            fragment(json!(0), json!("a"), "{\"path\": \"/ho"),
            chunk(json!({}), json!("length")),
        ]);
        let deltas = deltas.unwrap();
        assert_eq!(calls(&deltas), [("a", "look", json!("{\"path\": \"/ho"))]);
        assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Length)));
    }

    #[test]
    fn an_error_in_mid_answer_keeps_its_kind() {
        let error = |code: &str, message: &str| {
            read(&[json!({ "error": { "code": code, "message": message } })]).unwrap_err().trouble
        };
        assert_eq!(error("rate_limit_exceeded", "slow down"), Trouble::Busy);
        assert_eq!(error("context_length_exceeded", "long"), Trouble::TooLong);
        assert_eq!(error("invalid", "no"), Trouble::Refused);
    }

    #[test]
    fn what_is_no_json_is_one_clear_error() {
        let mut reader = Reader::default();
        let error = reader.read(b"<html>\xff", &mut Vec::new()).unwrap_err();
        assert_eq!(error.trouble, Trouble::Broken);
        assert!(error.message.contains("<html>"), "{error}");
    }
}
