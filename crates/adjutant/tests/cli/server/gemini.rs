//! `streamGenerateContent`, as Google checks it.

use serde_json::{Value, json};

use super::{
    Call, Format, KEY, Said, fresh, halves, sse,
    strict::{Verdict, alternate, at_least, at_most, ensure, fields, list, text, tools, verbatim},
};

pub(crate) struct Gemini;

fn chunk(part: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }] })
}

/// Returns what is streamed of a part. What is signed comes whole.
fn pieces(part: &Value) -> Vec<Value> {
    match part["text"].as_str() {
        Some(text) if part["thoughtSignature"].is_null() => {
            let half = |half: String| {
                let mut part = part.clone();
                part["text"] = half.into();
                part
            };
            halves(text).map(half).to_vec()
        }
        _ => vec![part.clone()],
    }
}

impl Format for Gemini {
    fn provider(&self) -> (&'static str, &'static str) {
        ("gemini", "GEMINI")
    }

    fn path(&self) -> &'static str {
        "/v1beta/models/test-model:streamGenerateContent?alt=sse"
    }

    fn headers(&self) -> Vec<String> {
        vec![format!("x-goog-api-key: {KEY}")]
    }

    fn check(&self, body: &Value, said: &[Said]) -> Verdict {
        let optional = ["systemInstruction", "toolConfig", "tools"];
        fields(body, &["contents", "generationConfig"], &optional)?;
        let config = &body["generationConfig"];
        let optional = ["responseJsonSchema", "responseMimeType", "thinkingConfig"];
        fields(config, &["maxOutputTokens"], &optional)?;
        at_least(1, &config["maxOutputTokens"])?;
        let thinking = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
        at_most(&config["thinkingConfig"], &thinking)?;
        ensure!(body["toolConfig"].is_null() || body["tools"].is_array(), "a choice of nothing");
        if !body["tools"].is_null() {
            for tool in list(&body["tools"])? {
                fields(tool, &["functionDeclarations"], &[])?;
                let functions = list(&tool["functionDeclarations"])?;
                for function in functions {
                    fields(function, &["name", "description", "parametersJsonSchema"], &[])?;
                }
                tools(functions.iter().map(|it| (&it["name"], &it["parametersJsonSchema"])))?;
            }
        }
        if !body["systemInstruction"].is_null() {
            for part in list(&body["systemInstruction"]["parts"])? {
                text(&part["text"])?;
            }
        }
        check_contents(list(&body["contents"])?, said)
    }

    fn words(&self, text: &str) -> Said {
        vec![json!({ "text": text })]
    }

    /// The first call is signed. Older models give no ids, newer ones do.
    fn calls(&self, calls: &[Call<'_>]) -> Said {
        let has_ids = calls.len() > 1;
        let mut parts: Vec<_> = calls
            .iter()
            .map(|(name, args)| json!({ "functionCall": { "name": name, "args": args } }))
            .collect();
        for part in parts.iter_mut().filter(|_| has_ids) {
            part["functionCall"]["id"] = fresh("id").into();
        }
        parts[0]["thoughtSignature"] = fresh("a+/=").into();
        parts
    }

    fn thoughts(&self, text: &str) -> Said {
        let seal = json!({ "text": "", "thoughtSignature": fresh("b+/=") });
        vec![json!({ "text": text, "thought": true }), seal]
    }

    fn begin(&self, said: &[Value]) -> String {
        sse(&said.iter().flat_map(pieces).map(|part| chunk(&part)).collect::<Vec<_>>())
    }

    fn end(&self, _: &[Value]) -> String {
        let usage = json!({
            "promptTokenCount": 90,
            "cachedContentTokenCount": 64,
            "candidatesTokenCount": 6,
            "thoughtsTokenCount": 4,
        });
        sse(&[json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": usage })])
    }

    fn failure(&self, message: &str) -> Value {
        json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": message } })
    }

    fn too_long(&self) -> &'static str {
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."
    }
}

fn check_contents(contents: &[Value], said: &[Said]) -> Verdict {
    // What was thought need not come back; what seals it has to.
    let is_wanted = |part: &&Value| part["thought"].is_null();
    let said: Vec<Said> =
        said.iter().map(|said| said.iter().filter(is_wanted).cloned().collect()).collect();
    alternate(contents, "model")?;
    let mut calls = Vec::new();
    for content in contents {
        fields(content, &["role", "parts"], &[])?;
        let parts = list(&content["parts"])?;
        if content["role"] == "model" {
            verbatim(parts, &said)?;
            calls = parts.iter().filter(|part| !part["functionCall"].is_null()).collect();
        } else {
            check_user(parts, &calls)?;
        }
    }
    Ok(())
}

/// The results come first, one for each call, in their order.
fn check_user(parts: &[Value], calls: &[&Value]) -> Verdict {
    let results = parts.iter().take_while(|part| !part["functionResponse"].is_null()).count();
    ensure!(results == calls.len(), "{results} results for {} calls: {parts:?}", calls.len());
    for (part, call) in parts.iter().zip(calls) {
        fields(part, &["functionResponse"], &[])?;
        let (result, call) = (&part["functionResponse"], &call["functionCall"]);
        fields(result, &["name", "response"], &["id"])?;
        ensure!(result["response"].is_object(), "a result is no object: {result}");
        let is_its = result["name"] == call["name"] && result["id"] == call["id"];
        ensure!(is_its, "{result} is not the result of {call}");
    }
    for part in &parts[results..] {
        fields(part, &["text"], &[])?;
        text(&part["text"])?;
    }
    Ok(())
}
