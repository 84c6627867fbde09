//! Chat Completions, as OpenAI and OpenRouter check it.

use serde_json::{Value, json};

use super::{
    Call, Format, KEY, Said, fresh, halves, sse,
    strict::{Calls, Verdict, at_least, at_most, ensure, fields, list, text, tools, verbatim},
};

pub(crate) struct Chat;

/// An answer is one message. What is said is its fields, one or more at a time.
pub(super) fn message(said: &[Value]) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    for (name, value) in said.iter().filter_map(Value::as_object).flatten() {
        message[name] = value.clone();
    }
    message
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice] })
}

/// Returns what is streamed of a piece of the message.
fn deltas(said: &Value) -> Vec<Value> {
    if let Some(words) = said["content"].as_str() {
        return halves(words).map(|half| json!({ "content": half })).to_vec();
    }
    let Some(calls) = said["tool_calls"].as_array() else { return vec![said.clone()] };
    let deltas = calls.iter().enumerate().flat_map(|(index, call)| {
        let [first, second] = halves(call["function"]["arguments"].as_str().unwrap());
        let mut begun = call.clone();
        begun["index"] = index.into();
        begun["function"]["arguments"] = first.into();
        [begun, json!({ "index": index, "function": { "arguments": second } })]
    });
    deltas.map(|call| json!({ "tool_calls": [call] })).collect()
}

impl Format for Chat {
    fn provider(&self) -> (&'static str, &'static str) {
        ("openai", "OPENAI")
    }

    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn headers(&self) -> Vec<String> {
        vec![format!("authorization: Bearer {KEY}")]
    }

    fn check(&self, body: &Value, said: &[Said]) -> Verdict {
        let optional = [
            "max_completion_tokens",
            "max_tokens",
            "prompt_cache_key",
            "reasoning_effort",
            "response_format",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools",
            "top_p",
        ];
        fields(body, &["model", "stream", "messages"], &optional)?;
        text(&body["model"])?;
        ensure!(body["stream"] == true, "a stream was not asked for");
        let limits = [&body["max_tokens"], &body["max_completion_tokens"]];
        let mut limits = limits.into_iter().filter(|limit| !limit.is_null());
        at_least(1, limits.next().unwrap_or(&Value::Null))?;
        ensure!(limits.next().is_none(), "there are two limits");
        for (name, most) in [("temperature", 2.0), ("top_p", 1.0)] {
            let given = body.get(name).map(|it| it.as_f64().unwrap_or(-1.0));
            ensure!(given.is_none_or(|it| (0.0..=most).contains(&it)), "{name} is out of bounds");
        }
        let effort = body["reasoning_effort"].as_str().unwrap_or("low");
        ensure!(["low", "medium", "high"].contains(&effort), "{effort} is no effort");
        at_most(&body["stream_options"], &["include_usage"])?;
        ensure!(body["tool_choice"].is_null() || body["tools"].is_array(), "a choice of nothing");
        if !body["tools"].is_null() {
            for tool in list(&body["tools"])? {
                fields(tool, &["type", "function"], &[])?;
                fields(&tool["function"], &["name", "description", "parameters"], &[])?;
            }
            let functions = list(&body["tools"])?.iter().map(|tool| &tool["function"]);
            tools(functions.map(|function| (&function["name"], &function["parameters"])))?;
        }
        check_messages(list(&body["messages"])?, said)
    }

    fn words(&self, text: &str) -> Said {
        vec![json!({ "content": text })]
    }

    fn calls(&self, calls: &[Call<'_>]) -> Said {
        let calls = calls.iter().map(|(name, arguments)| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!({ "id": fresh("call"), "type": "function", "function": function })
        });
        vec![json!({ "tool_calls": calls.collect::<Vec<_>>() })]
    }

    fn thoughts(&self, text: &str) -> Said {
        let summary = json!({ "type": "reasoning.summary", "summary": text, "index": 0 });
        let seal = json!({ "type": "reasoning.encrypted", "data": fresh("a+/="), "index": 1 });
        vec![json!({ "reasoning_details": [summary, seal] })]
    }

    fn begin(&self, said: &[Value]) -> String {
        let deltas = said.iter().flat_map(deltas);
        sse(&deltas.map(|delta| chunk(&delta, &Value::Null)).collect::<Vec<_>>())
    }

    fn end(&self, said: &[Value]) -> String {
        let calls = message(said)["tool_calls"].is_array();
        let usage = json!({
            "prompt_tokens": 90,
            "prompt_tokens_details": { "cached_tokens": 64 },
            "completion_tokens": 10,
            "completion_tokens_details": { "reasoning_tokens": 4 },
        });
        let finish = chunk(&json!({}), &(if calls { "tool_calls" } else { "stop" }).into());
        sse(&[finish, json!({ "choices": [], "usage": usage })]) + "data: [DONE]\n\n"
    }

    fn failure(&self, message: &str) -> Value {
        json!({ "error": { "code": "server_error", "type": "server_error", "message": message } })
    }

    fn too_long(&self) -> &'static str {
        "This model's maximum context length is 128000 tokens. However, your messages resulted in \
         131072 tokens. Please reduce the length of the messages."
    }
}

fn check_messages(messages: &[Value], said: &[Said]) -> Verdict {
    let said: Vec<_> = said.iter().map(|said| vec![message(said)]).collect();
    let (mut calls, mut last) = (Calls::default(), "");
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" {
            calls.ensure_closed()?;
        }
        match role {
            "system" => {
                ensure!(last.is_empty(), "the system comes first: {message}");
                text(&message["content"])?;
            }
            "user" => {
                fields(message, &["role", "content"], &[])?;
                text(&message["content"])?;
            }
            "assistant" => {
                ensure!(last == "user" || last == "tool", "the user comes first: {message}");
                verbatim(std::slice::from_ref(message), &said)?;
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    calls.open(&call["id"])?;
                }
            }
            "tool" => {
                fields(message, &["role", "tool_call_id", "content"], &[])?;
                ensure!(message["content"].is_string(), "a result is no text: {message}");
                calls.close(&message["tool_call_id"])?;
            }
            _ => return Err(format!("nobody's message: {message}")),
        }
        last = role;
    }
    ensure!(last == "user" || last == "tool", "the user has not the last word");
    calls.ensure_closed()
}
