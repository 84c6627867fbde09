//! Messages, as Anthropic checks it.

use serde_json::{Value, json};

use super::{
    Call, Format, KEY, Said, fresh, halves, sse,
    strict::{
        Calls, Verdict, alternate, at_least, at_most, ensure, fields, list, text, tools, verbatim,
    },
};

pub(crate) struct Messages;

/// The most marks that a request may have.
const MARKS: usize = 4;

/// Returns how a block begins, and what is added to it.
fn streamed(block: &Value) -> (Value, Vec<Value>) {
    let mut begun = block.clone();
    let mut cut = |field: &str, delta: &str, content: &str, text: &str| {
        begun[field] = if field == "input" { json!({}) } else { "".into() };
        halves(text).map(|half| json!({ "type": delta, content: half })).to_vec()
    };
    let words = |field: &str| block[field].as_str().unwrap().to_owned();
    let deltas = match block["type"].as_str().unwrap() {
        "text" => cut("text", "text_delta", "text", &words("text")),
        "tool_use" => cut("input", "input_json_delta", "partial_json", &block["input"].to_string()),
        "thinking" => {
            let thinking = cut("thinking", "thinking_delta", "thinking", &words("thinking"));
            let seal = cut("signature", "signature_delta", "signature", &words("signature"));
            [thinking, seal].concat()
        }
        _ => Vec::new(),
    };
    (begun, deltas)
}

impl Format for Messages {
    fn provider(&self) -> (&'static str, &'static str) {
        ("anthropic", "ANTHROPIC")
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self) -> Vec<String> {
        vec![format!("x-api-key: {KEY}"), "anthropic-version: 2023-06-01".to_owned()]
    }

    fn check(&self, body: &Value, said: &[Said]) -> Verdict {
        let optional = ["output_config", "system", "thinking", "tool_choice", "tools"];
        fields(body, &["model", "stream", "messages", "max_tokens"], &optional)?;
        text(&body["model"])?;
        ensure!(body["stream"] == true, "a stream was not asked for");
        at_least(1, &body["max_tokens"])?;
        at_most(&body["thinking"], &["type", "display", "budget_tokens"])?;
        at_most(&body["output_config"], &["effort", "format"])?;
        ensure!(body["tool_choice"].is_null() || body["tools"].is_array(), "a choice of nothing");
        if !body["tools"].is_null() {
            for tool in list(&body["tools"])? {
                fields(tool, &["name", "description", "input_schema"], &["cache_control"])?;
            }
            tools(list(&body["tools"])?.iter().map(|tool| (&tool["name"], &tool["input_schema"])))?;
        }
        if !body["system"].is_null() {
            for block in list(&body["system"])? {
                check_text(block)?;
            }
        }
        let marks = marks(body)?;
        ensure!(marks <= MARKS, "{marks} marks are more than {MARKS}");
        let messages = list(&body["messages"])?;
        alternate(messages, "assistant")?;
        let mut calls = Calls::default();
        for message in messages {
            fields(message, &["role", "content"], &[])?;
            let blocks = list(&message["content"])?;
            if message["role"] == "user" {
                check_user(blocks, &mut calls)?;
            } else {
                check_assistant(blocks, said, &mut calls)?;
            }
        }
        Ok(())
    }

    fn words(&self, text: &str) -> Said {
        vec![json!({ "type": "text", "text": text })]
    }

    fn calls(&self, calls: &[Call<'_>]) -> Said {
        let calls = calls.iter().map(|(name, input)| {
            json!({ "type": "tool_use", "id": fresh("toolu"), "name": name, "input": input })
        });
        calls.collect()
    }

    fn thoughts(&self, text: &str) -> Said {
        vec![
            json!({ "type": "thinking", "thinking": text, "signature": fresh("a+/=") }),
            json!({ "type": "redacted_thinking", "data": fresh("b+/=") }),
        ]
    }

    fn begin(&self, said: &[Value]) -> String {
        let usage = json!({
            "input_tokens": 20,
            "cache_creation_input_tokens": 6,
            "cache_read_input_tokens": 64,
            "output_tokens": 1,
        });
        let message = json!({ "type": "message", "role": "assistant", "usage": usage });
        let mut events = vec![json!({ "type": "message_start", "message": message })];
        events.push(json!({ "type": "ping" }));
        for (index, block) in said.iter().enumerate() {
            let (begun, deltas) = streamed(block);
            let start = "content_block_start";
            events.push(json!({ "type": start, "index": index, "content_block": begun }));
            events.extend(deltas.iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        sse(&events)
    }

    fn end(&self, said: &[Value]) -> String {
        let calls = said.iter().any(|block| block["type"] == "tool_use");
        let reason = if calls { "tool_use" } else { "end_turn" };
        let details = json!({ "thinking_tokens": 4 });
        sse(&[
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": reason },
                "usage": { "output_tokens": 10, "output_tokens_details": details },
            }),
            json!({ "type": "message_stop" }),
        ])
    }

    fn failure(&self, message: &str) -> Value {
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": message } })
    }

    fn too_long(&self) -> &'static str {
        "prompt is too long: 212345 tokens > 200000 maximum"
    }
}

fn check_text(block: &Value) -> Verdict {
    ensure!(block["type"] == "text", "not a text: {block}");
    fields(block, &["type", "text"], &["cache_control"])?;
    text(&block["text"]).map(drop)
}

/// Counts the marks of a request.
fn marks(value: &Value) -> Verdict<usize> {
    match value {
        Value::Array(list) => list.iter().map(marks).sum(),
        Value::Object(object) => {
            let is_thought = value["type"].as_str().is_some_and(|kind| kind.contains("thinking"));
            let is_marked = object.contains_key("cache_control");
            ensure!(!is_marked || !is_thought, "a thought bears a mark: {value}");
            let ephemeral = json!({ "type": "ephemeral" });
            let is_right = !is_marked || value["cache_control"] == ephemeral;
            ensure!(is_right, "not a mark: {value}");
            let inner: usize = object.values().map(marks).sum::<Verdict<_>>()?;
            Ok(inner + usize::from(is_marked))
        }
        _ => Ok(0),
    }
}

/// Results come first, all of them, and only right after their calls.
fn check_user(blocks: &[Value], calls: &mut Calls<'_>) -> Verdict {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results = blocks.iter().take_while(is_result).count();
    for block in &blocks[..results] {
        fields(block, &["type", "tool_use_id", "content"], &["is_error", "cache_control"])?;
        let is_right = block["is_error"].is_null() || block["is_error"].is_boolean();
        ensure!(is_right, "neither right nor wrong: {block}");
        text(&block["content"])?;
        calls.close(&block["tool_use_id"])?;
    }
    blocks[results..].iter().try_for_each(check_text)?;
    calls.ensure_closed()
}

fn check_assistant<'a>(blocks: &'a [Value], said: &[Said], calls: &mut Calls<'a>) -> Verdict {
    let unmarked = blocks.iter().cloned().map(|mut block| {
        block.as_object_mut().unwrap().remove("cache_control");
        block
    });
    verbatim(&unmarked.collect::<Vec<_>>(), said)?;
    let calls_here = blocks.iter().filter(|block| block["type"] == "tool_use");
    calls_here.map(|call| &call["id"]).try_for_each(|id| calls.open(id))
}
