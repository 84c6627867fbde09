use adjutant_core::{Delta, Effort, ModelError, Origin, StopReason, Trouble, Usage};

use super::*;
use crate::wire::testing::{assert_only_grows, fresh, message, read, request, speaker, tool};

fn call(id: &str, arguments: Value) -> Part {
    let (id, name) = (id.into(), "read_file".to_owned());
    Part::Call(ToolCall { id, name, arguments, native: None })
}

fn result(call: &str, text: &str) -> ToolResult {
    let (call, text) = (call.into(), text.to_owned());
    ToolResult { call, text, images: Vec::new(), failed: false, facts: Vec::new() }
}

fn conversation() -> Vec<Arc<Message>> {
    let picture = Image { media_type: "image/png".to_owned(), data: "AAAA".into() };
    let calls = vec![
        Part::Reasoning { text: "hm".to_owned(), native: None },
        Part::text("let me look"),
        call("c1", json!({ "path": "a" })),
        call("c2", json!("not json")),
    ];
    let seen = ToolResult { images: vec![picture.clone()], ..result("c1", "a picture") };
    let failed = ToolResult::failure("c2".into(), "no");
    let words = vec![Part::text("what is"), Part::Image(picture)];
    [
        Message::User { origin: Origin::Person, parts: words },
        Message::Assistant { parts: calls },
        Message::Tools { results: vec![seen, failed] },
        Message::Tools { results: Vec::new() },
        Message::Assistant { parts: vec![call("c3", json!({}))] },
        Message::user(Origin::Parent, "go \"on\"\n"),
        Message::Assistant { parts: Vec::new() },
    ]
    .map(Arc::new)
    .to_vec()
}

#[test]
fn a_request_is_what_the_documentation_asks_for() {
    let url = json!({ "url": "data:image/png;base64,AAAA" });
    let picture = json!({ "type": "image_url", "image_url": url });
    let call = |id: &str, arguments: &str| {
        let function = json!({ "name": "read_file", "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    };
    let calls = [call("c1", r#"{"path":"a"}"#), call("c2", r#"{"unparsed":"not json"}"#)];
    let tools = [tool("read_file", json!({ "type": "object" }))];
    let expected = json!({
        "model": "m",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 99,
        "tools": [{
            "type": "function",
            "function": {
                "name": "read_file",
                "description": "Does read_file.",
                "parameters": { "type": "object" },
            },
        }],
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": [{ "type": "text", "text": "what is" }, picture] },
            { "role": "assistant", "content": "let me look", "tool_calls": calls },
            { "role": "tool", "tool_call_id": "c1", "content": "a picture" },
            { "role": "tool", "tool_call_id": "c2", "content": "Error: no" },
            { "role": "user", "content": [picture] },
            { "role": "assistant", "content": null, "tool_calls": [call("c3", "{}")] },
            { "role": "user", "content": "go \"on\"\n" },
            { "role": "assistant", "content": "" },
        ],
    });
    let (messages, speaker) = (conversation(), speaker("groq", "m"));
    assert_eq!(fresh(&Chat, &speaker, &request(&messages, &tools)), expected);
}

#[test]
fn without_a_system_prompt_there_is_no_system_message() {
    let messages = [Arc::new(Message::user(Origin::Person, "hi"))];
    let tools = [tool("look", json!({}))];
    let asked = Request { system: "", choice: ToolChoice::None, ..request(&messages, &tools) };
    let body = fresh(&Chat, &speaker("groq", "m"), &asked);
    assert_eq!(body["messages"], json!([{ "role": "user", "content": "hi" }]));
    assert_eq!(body["tool_choice"], "none");
}

#[test]
fn what_was_sent_once_is_the_beginning_of_what_is_sent_next() {
    for provider in ["openai", "deepseek", "mistral", "openrouter"] {
        assert_only_grows(&Chat, &speaker(provider, "m"), &conversation());
    }
}

#[test]
fn each_provider_is_told_only_what_it_takes() {
    let messages = conversation();
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let asked = Request { schema: Some(&schema), ..request(&messages, &[]) };
    let told = |provider: &str| fresh(&Chat, &speaker(provider, "m"), &asked);
    let openai = told("openai");
    let format = json!({ "name": "answer", "schema": schema, "strict": true });
    assert_eq!(openai["response_format"], json!({ "type": "json_schema", "json_schema": format }));
    assert_eq!(openai["prompt_cache_key"], cache_key(&speaker("openai", "m"), &asked));
    assert_eq!(
        (&openai["max_completion_tokens"], &openai["max_tokens"]),
        (&json!(99), &json!(null))
    );
    let groq = told("groq");
    assert_eq!(groq["response_format"], json!(null));
    assert_eq!(groq["prompt_cache_key"], json!(null));
    assert_eq!(told("mistral")["stream_options"], json!(null));
}

#[test]
fn only_a_model_that_can_be_told_how_much_to_think_is_told() {
    let told = |provider: &str, thinking: Option<Thinking>| {
        let mut speaker = Speaker { effort: Some(Effort::Low), ..speaker(provider, "m") };
        speaker.quirks.thinking = thinking.unwrap_or(speaker.quirks.thinking);
        fresh(&Chat, &speaker, &request(&conversation(), &[]))["reasoning_effort"].clone()
    };
    assert_eq!(told("openrouter", None), "low");
    assert_eq!(told("openai", Some(Thinking::Level)), "low");
    for provider in ["openai", "groq", "mistral", "xai", "ollama"] {
        assert_eq!(told(provider, None), json!(null), "{provider}");
    }
}

#[test]
fn a_call_and_its_result_have_an_id_that_the_server_takes() {
    let long = "x".repeat(41);
    let ids = ["abcDEF123", "call_1", "functions.read:0", &long];
    let messages: Vec<_> = [
        Message::user(Origin::Person, "look"),
        Message::Assistant { parts: ids.map(|id| call(id, json!({}))).to_vec() },
        Message::Tools { results: ids.map(|id| result(id, "seen")).to_vec() },
    ]
    .map(Arc::new)
    .to_vec();
    let sent = |provider: &str| {
        let body = fresh(&Chat, &speaker(provider, "m"), &request(&messages, &[]));
        let calls: Vec<_> =
            (0..4).map(|n| body["messages"][2]["tool_calls"][n]["id"].clone()).collect();
        let results: Vec<_> = (3..7).map(|n| body["messages"][n]["tool_call_id"].clone()).collect();
        assert_eq!(calls, results);
        calls.iter().map(|id| id.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let nine = sent("mistral");
    assert_eq!(nine[0], "abcDEF123");
    for id in &nine {
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    }
    assert_eq!(nine.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    let short = sent("openai");
    assert_eq!(short[..3], ids[..3]);
    assert!(short[3].len() <= 40, "{}", short[3]);
}

fn answer(provider: &str, events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    read(&Chat, &speaker(provider, "m"), events)
}

#[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
fn chunk(delta: Value, finish: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn said(delta: Value) -> Value {
    chunk(delta, json!(null))
}

#[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
fn fragment(index: Value, id: Value, arguments: &str) -> Value {
    let name = if id.is_null() { json!(null) } else { json!("get_weather") };
    let function = json!({ "name": name, "arguments": arguments });
    said(json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
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
    let deltas = answer(
        "groq",
        &[
            said(json!({ "role": "assistant", "content": "" })),
            said(json!({ "reasoning_content": "hm" })),
            said(json!({ "content": "four" })),
            said(json!({ "content": "teen" })),
            chunk(json!({}), json!("stop")),
            json!({ "choices": [], "usage": usage }),
        ],
    );
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
fn the_example_of_the_documentation_is_one_call() {
    let mut events = vec![fragment(json!(0), json!("call_DdmO9pD3xa9XTPNJ32zg2hcA"), "")];
    let pieces = ["{\"", "location", "\":\"", "Paris", ",", " France", "\"}"];
    events.extend(pieces.map(|piece| fragment(json!(0), json!(null), piece)));
    events.push(chunk(json!({}), json!("tool_calls")));
    let deltas = answer("openai", &events).unwrap();
    let paris = json!({ "location": "Paris, France" });
    assert_eq!(calls(&deltas), [("call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", paris)]);
    assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
}

#[test]
fn calls_are_put_together_whatever_the_server_calls_their_index() {
    for (first, second) in [(json!(0), json!(1)), (json!(1), json!(2))] {
        let deltas = answer(
            "vllm",
            &[
                fragment(first.clone(), json!("a"), "{\"x\":"),
                fragment(second.clone(), json!("b"), "{}"),
                fragment(first, json!(null), "1}"),
                chunk(json!({}), json!("tool_calls")),
            ],
        );
        let deltas = deltas.unwrap();
        let expected = [("a", "get_weather", json!({ "x": 1 })), ("b", "get_weather", json!({}))];
        assert_eq!(calls(&deltas), expected);
        assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
    }
    let without_index = answer(
        "vllm",
        &[
            fragment(json!(null), json!("a"), "{\"x\":"),
            fragment(json!(null), json!(null), "1}"),
            fragment(json!(null), json!("b"), "{}"),
            chunk(json!({}), json!("stop")),
        ],
    );
    let deltas = without_index.unwrap();
    let expected = [("a", "get_weather", json!({ "x": 1 })), ("b", "get_weather", json!({}))];
    assert_eq!(calls(&deltas), expected);
    assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
}

#[test]
fn calls_that_share_an_index_are_told_apart_by_their_ids() {
    let call = |id: &str, arguments| fragment(json!(0), json!(id), arguments);
    let more = |id: Value, arguments: &str| {
        let function = json!({ "arguments": arguments });
        said(json!({ "tool_calls": [{ "index": 0, "id": id, "function": function }] }))
    };
    let deltas = answer(
        "ollama",
        &[
            call("a", "{}"),
            call("b", "{\"x\":"),
            more(json!(null), "1,"),
            more(json!("another"), "\"y\":2}"),
            chunk(json!({}), json!("tool_calls")),
        ],
    );
    let deltas = deltas.unwrap();
    let second = json!({ "x": 1, "y": 2 });
    let expected = [("a", "get_weather", json!({})), ("b", "get_weather", second)];
    assert_eq!(calls(&deltas), expected);
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own() {
    let unnamed = fragment(json!(0), json!(""), "{}");
    let deltas = answer("ollama", &[unnamed, chunk(json!({}), json!("stop"))]).unwrap();
    assert_eq!(calls(&deltas), [("call_3_0", "get_weather", json!({}))]);
}

#[test]
fn half_an_answer_is_not_taken_for_a_whole_one() {
    let deltas = answer("groq", &[said(json!({ "content": "half" }))]).unwrap();
    assert_eq!(deltas, [Delta::Text("half".to_owned())]);
}

#[test]
fn a_call_that_was_cut_off_stays_text() {
    let cut = fragment(json!(0), json!("a"), "{\"path\": \"/ho");
    let deltas = answer("groq", &[cut, chunk(json!({}), json!("length"))]).unwrap();
    assert_eq!(calls(&deltas), [("a", "get_weather", json!("{\"path\": \"/ho"))]);
    assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Length)));
}

#[test]
fn thoughts_that_come_under_both_names_are_thought_once() {
    let both = said(json!({ "reasoning": "hm", "reasoning_content": "hm" }));
    let other = said(json!({ "reasoning": "", "reasoning_content": " so" }));
    let deltas = answer("together", &[both, other, chunk(json!({}), json!("stop"))]).unwrap();
    let part = Part::Reasoning { text: "hm so".to_owned(), native: None };
    assert_eq!(deltas[2..], [Delta::Part(part), Delta::Stop(StopReason::Done)]);
}

#[test]
fn a_content_in_pieces_is_words_and_thoughts() {
    let thinking = json!([{ "type": "text", "text": "a greeting" }]);
    let deltas = answer(
        "mistral",
        &[
            said(json!({ "content": [{ "type": "thinking", "thinking": thinking }] })),
            said(
                json!({ "content": [{ "type": "text", "text": "Hel" }, { "type": "reference" }] }),
            ),
            chunk(json!({ "content": "lo" }), json!("stop")),
        ],
    );
    let expected = [
        Delta::Reasoning("a greeting".to_owned()),
        Delta::Text("Hel".to_owned()),
        Delta::Text("lo".to_owned()),
        Delta::Part(Part::Reasoning { text: "a greeting".to_owned(), native: None }),
        Delta::Part(Part::text("Hello")),
        Delta::Stop(StopReason::Done),
    ];
    assert_eq!(deltas.unwrap(), expected);
}

#[test]
fn a_refusal_is_said_and_ends_the_answer() {
    let refusal = said(json!({ "content": null, "refusal": "I cannot." }));
    let deltas = answer("openai", &[refusal, chunk(json!({}), json!("stop"))]).unwrap();
    let expected = [
        Delta::Text("I cannot.".to_owned()),
        Delta::Part(Part::text("I cannot.")),
        Delta::Stop(StopReason::Filtered),
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn details_of_reasoning_are_handed_back_to_the_model_that_gave_them() {
    let detail = |detail: Value| said(json!({ "reasoning_details": [detail] }));
    let sealed =
        |id: &str| json!({ "type": "reasoning.encrypted", "data": "eJ", "id": id, "index": 0 });
    let deltas = answer(
        "openrouter",
        &[
            detail(json!({ "type": "reasoning.text", "text": "I", "index": 0, "signature": null })),
            detail(json!({ "type": "reasoning.text", "text": " need to look", "index": 0 })),
            detail(
                json!({ "type": "reasoning.text", "index": 0, "signature": "sig", "text": null }),
            ),
            detail(json!({ "type": "reasoning.text", "text": "again", "index": 1 })),
            detail(sealed("a")),
            detail(sealed("b")),
            fragment(json!(0), json!("a"), "{}"),
            chunk(json!({}), json!("tool_calls")),
        ],
    );
    let messages = [Arc::new(Message::user(Origin::Person, "hi")), message(&deltas.unwrap())];
    let details = json!([
        { "type": "reasoning.text", "text": "I need to look", "index": 0, "signature": "sig" },
        { "type": "reasoning.text", "text": "again", "index": 1 },
        sealed("a"),
        sealed("b"),
    ]);
    let sent = |provider: &str, model: &str| {
        fresh(&Chat, &speaker(provider, model), &request(&messages, &[]))["messages"][2].clone()
    };
    assert_eq!(sent("openrouter", "m")["reasoning_details"], details);
    assert_eq!(sent("openrouter", "other").get("reasoning_details"), None);
    assert_eq!(sent("openai", "m").get("reasoning_details"), None);
    assert_eq!(sent("deepseek", "m")["reasoning_content"], "");
}

#[test]
fn a_server_that_wants_all_thoughts_back_gets_its_own_and_no_others() {
    let deltas = answer(
        "deepseek",
        &[
            said(json!({ "reasoning_content": "I \"need\"" })),
            said(json!({ "reasoning_content": " to look" })),
            fragment(json!(0), json!("a"), "{}"),
            chunk(json!({}), json!("tool_calls")),
        ],
    );
    let mut messages = conversation();
    messages.push(message(&deltas.unwrap()));
    let sent = |provider: &str| fresh(&Chat, &speaker(provider, "m"), &request(&messages, &[]));
    let thoughts = |body: &Value| {
        let messages = body["messages"].as_array().unwrap().iter();
        let answers = messages.filter(|message| message["role"] == "assistant");
        answers.map(|answer| answer.get("reasoning_content").cloned()).collect::<Vec<_>>()
    };
    let [none, own] = [json!(""), json!("I \"need\" to look")].map(Some);
    assert_eq!(thoughts(&sent("deepseek")), [none.clone(), none.clone(), none, own]);
    assert_eq!(thoughts(&sent("groq")), [None, None, None, None]);
    let thoughtless = answer("deepseek", &[chunk(json!({ "content": "hi" }), json!("stop"))]);
    assert_eq!(message(&thoughtless.unwrap()).parts(), [Part::text("hi")]);
}

#[test]
fn what_was_read_from_a_cache_is_counted_whatever_it_is_called() {
    let usage =
        json!({ "prompt_tokens": 100, "completion_tokens": 1, "prompt_cache_hit_tokens": 64 });
    let deltas = answer("deepseek", &[json!({ "choices": [], "usage": usage })]).unwrap();
    let usage = Usage { input: 100, output: 1, cache_read: 64, ..Usage::default() };
    assert_eq!(deltas, [Delta::Usage(usage)]);
}

#[test]
fn an_error_in_mid_answer_keeps_its_kind() {
    let error = |code: Value| json!({ "code": code, "message": "sorry" });
    let trouble = |event: Value| answer("openrouter", &[event]).unwrap_err().trouble;
    assert_eq!(trouble(json!({ "error": error(json!("rate_limit_exceeded")) })), Trouble::Busy);
    assert_eq!(
        trouble(json!({ "error": error(json!("context_length_exceeded")) })),
        Trouble::TooLong
    );
    assert_eq!(trouble(json!({ "error": error(json!("invalid")) })), Trouble::Refused);
    let mut inside = chunk(json!({ "content": "" }), json!("error"));
    assert_eq!(trouble(inside.clone()), Trouble::Broken);
    inside["choices"][0]["error"] = error(json!(502));
    assert_eq!(trouble(inside), Trouble::Busy);
}

#[test]
fn what_is_no_json_is_one_clear_error() {
    let error = read(&Chat, &speaker("groq", "m"), &["<html>"]).unwrap_err();
    assert_eq!(error.trouble, Trouble::Broken);
    assert!(error.message.contains("<html>"), "{error}");
}
