//! Responses, as OpenAI checks it.

use serde_json::{Value, json};

use super::{
    Call, Format, KEY, Said, fresh, halves, sse,
    strict::{Calls, Verdict, at_least, at_most, ensure, fields, list, text, tools, verbatim},
};

pub(crate) struct Responses;

/// Returns what is shown of an item before it is whole: the events' type and the text.
fn shown(item: &Value) -> (&'static str, &str) {
    let (kind, text) = match item["type"].as_str() {
        Some("message") => ("response.output_text.delta", &item["content"][0]["text"]),
        Some("reasoning") => ("response.reasoning_summary_text.delta", &item["summary"][0]["text"]),
        _ => ("response.function_call_arguments.delta", &item["arguments"]),
    };
    (kind, text.as_str().unwrap())
}

impl Format for Responses {
    fn provider(&self) -> (&'static str, &'static str) {
        ("openai-responses", "OPENAI")
    }

    fn path(&self) -> &'static str {
        "/v1/responses"
    }

    fn headers(&self) -> Vec<String> {
        vec![format!("authorization: Bearer {KEY}")]
    }

    fn check(&self, body: &Value, said: &[Said]) -> Verdict {
        let required = ["model", "stream", "store", "include", "input", "max_output_tokens"];
        let optional =
            ["instructions", "prompt_cache_key", "reasoning", "text", "tool_choice", "tools"];
        fields(body, &required, &optional)?;
        text(&body["model"])?;
        ensure!(body["stream"] == true, "a stream was not asked for");
        ensure!(body["store"] == false, "the answer would be stored");
        let sealed = json!(["reasoning.encrypted_content"]);
        ensure!(body["include"] == sealed, "the reasoning could not be handed back");
        at_least(16, &body["max_output_tokens"])?;
        at_most(&body["reasoning"], &["effort"])?;
        ensure!(body["tool_choice"].is_null() || body["tools"].is_array(), "a choice of nothing");
        if !body["tools"].is_null() {
            for tool in list(&body["tools"])? {
                fields(tool, &["type", "name", "description", "parameters", "strict"], &[])?;
                ensure!(tool["type"] == "function", "not a function: {tool}");
            }
            tools(list(&body["tools"])?.iter().map(|tool| (&tool["name"], &tool["parameters"])))?;
        }
        check_items(list(&body["input"])?, said)
    }

    fn words(&self, text: &str) -> Said {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        let id = fresh("msg");
        vec![json!({ "type": "message", "id": id, "role": "assistant", "content": content })]
    }

    fn calls(&self, calls: &[Call<'_>]) -> Said {
        let calls = calls.iter().map(|(name, arguments)| {
            json!({
                "type": "function_call",
                "id": fresh("fc"),
                "call_id": fresh("call"),
                "name": name,
                "arguments": arguments.to_string(),
                "status": "completed",
            })
        });
        calls.collect()
    }

    fn thoughts(&self, text: &str) -> Said {
        vec![json!({
            "type": "reasoning",
            "id": fresh("rs"),
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": fresh("a+/="),
        })]
    }

    fn begin(&self, said: &[Value]) -> String {
        let mut events = vec![json!({ "type": "response.created", "response": {} })];
        for (index, item) in said.iter().enumerate() {
            let added = "response.output_item.added";
            events.push(json!({ "type": added, "output_index": index, "item": item }));
            let (kind, text) = shown(item);
            let halves = halves(text).into_iter();
            events.extend(
                halves.map(|half| json!({ "type": kind, "output_index": index, "delta": half })),
            );
            let done = "response.output_item.done";
            events.push(json!({ "type": done, "output_index": index, "item": item }));
        }
        sse(&events)
    }

    fn end(&self, said: &[Value]) -> String {
        let usage = json!({
            "input_tokens": 90,
            "input_tokens_details": { "cached_tokens": 64 },
            "output_tokens": 10,
            "output_tokens_details": { "reasoning_tokens": 4 },
        });
        let response = json!({ "status": "completed", "output": said, "usage": usage });
        sse(&[json!({ "type": "response.completed", "response": response })])
    }

    fn failure(&self, message: &str) -> Value {
        json!({ "type": "error", "code": "server_error", "message": message })
    }

    fn too_long(&self) -> &'static str {
        "Your input exceeds the context window of this model. Please adjust your input and try \
         again."
    }
}

/// Reports whether an item is the model's own.
fn is_said(item: &Value) -> bool {
    let kind = item["type"].as_str();
    matches!(kind, Some("reasoning" | "function_call")) || item["role"] == "assistant"
}

fn check_items(items: &[Value], said: &[Said]) -> Verdict {
    let mut calls = Calls::default();
    for answer in items.chunk_by(|one, other| is_said(one) == is_said(other)) {
        if !is_said(&answer[0]) {
            answer.iter().try_for_each(|item| check_given(item, &mut calls))?;
            calls.ensure_closed()?;
            continue;
        }
        // Reasoning is handed back with what it led to, or not at all.
        let last = answer.last().unwrap_or(&Value::Null);
        ensure!(last["type"] != "reasoning", "reasoning without what it led to: {last}");
        verbatim(answer, said)?;
        let opened = answer.iter().filter(|item| item["type"] == "function_call");
        opened.map(|call| &call["call_id"]).try_for_each(|id| calls.open(id))?;
    }
    ensure!(items.first().is_some_and(|item| item["role"] == "user"), "the user comes first");
    ensure!(!items.last().is_some_and(is_said), "the user has not the last word");
    Ok(())
}

fn check_given<'a>(item: &'a Value, calls: &mut Calls<'a>) -> Verdict {
    if item["type"] == "function_call_output" {
        fields(item, &["type", "call_id", "output"], &[])?;
        ensure!(item["output"].is_string(), "a result is no text: {item}");
        return calls.close(&item["call_id"]);
    }
    calls.ensure_closed()?;
    fields(item, &["type", "role", "content"], &[])?;
    ensure!(item["type"] == "message" && item["role"] == "user", "nobody's item: {item}");
    for content in list(&item["content"])? {
        fields(content, &["type", "text"], &[])?;
        ensure!(content["type"] == "input_text", "not what a user says: {content}");
        text(&content["text"])?;
    }
    Ok(())
}
