use adjutant_core::{Delta, Effort, ModelError, Native, Origin, StopReason, Trouble, Usage};

use super::*;
use crate::wire::{
    chat::Chat,
    testing::{assert_only_grows, fresh, message, read, request, speaker, tool},
};

/// An item of each kind, as servers write them: spaces and the order of keys are theirs.
const REASONING: &str = concat!(
    r#"{ "id":"rs_1", "type":"reasoning", "summary":[{"type":"summary_text","text":"**Look**"},"#,
    r#"{"type":"summary_text","text":"first"}], "encrypted_content":"gAAAAABo\/x" }"#
);
const MESSAGE: &str = concat!(
    r#"{"id":"msg_1","type":"message","status":"completed","phase":"commentary","content":"#,
    r#"[{"type":"output_text","annotations":[],"text":"I \u0077ill look."}],"role":"assistant"}"#
);
const CALL: &str = concat!(
    r#"{"type":"function_call","id":"fc_1234xyz","call_id":"call_1234xyz","#,
    r#""name":"get_weather","arguments":"{\"location\":\"Paris, France\"}"}"#
);
const CUT: &str =
    r#"{"type":"function_call","id":"fc_2","call_id":"c2","name":"look","arguments":"{\"pa"}"#;
const SEARCH: &str = r#"{"id":"ws_1","type":"web_search_call","status":"completed","content":7}"#;

fn me() -> Speaker {
    speaker("openai-responses", "gpt-5")
}

fn say(text: &str) -> Arc<Message> {
    Arc::new(Message::user(Origin::Person, text))
}

fn done(place: usize, item: &str) -> String {
    let event = r#""type":"response.output_item.done""#;
    format!(r#"{{{event},"output_index":{place},"item":{item}}}"#)
}

fn end(kind: &str, response: &str) -> String {
    format!(r#"{{"type":"response.{kind}","response":{response}}}"#)
}

fn answer(events: &[String]) -> Result<Vec<Delta>, ModelError> {
    read(&Responses, &me(), events)
}

/// Reads an answer of these items.
fn answered(items: &[&str]) -> Arc<Message> {
    let mut events: Vec<_> = items.iter().enumerate().map(|(n, item)| done(n, item)).collect();
    events.push(end("completed", "{}"));
    message(&answer(&events).unwrap())
}

fn sent(speaker: &Speaker, messages: &[Arc<Message>]) -> Value {
    fresh(&Responses, speaker, &request(messages, &[]))["input"].take()
}

fn native(json: &str) -> Option<Native> {
    Some(me().native(json))
}

fn result(call: &str, text: &str) -> ToolResult {
    let (call, text) = (call.into(), text.to_owned());
    ToolResult { call, text, images: Vec::new(), failed: false, facts: Vec::new() }
}

fn conversation() -> Vec<Arc<Message>> {
    let picture = Image { media_type: "image/png".to_owned(), data: "AAAA".into() };
    let words = vec![Part::text("what is"), Part::text(""), Part::Image(picture.clone())];
    let long = "x".repeat(65);
    let call = |id: &str, arguments: Value| {
        let (id, name) = (id.into(), "look".to_owned());
        Part::Call(ToolCall { id, name, arguments, native: None })
    };
    let foreign = vec![
        Part::Reasoning { text: "hm".to_owned(), native: None },
        Part::text("let me look"),
        Part::text(""),
        call("c1", json!({ "path": "a" })),
        call(&long, json!("not json")),
    ];
    let seen = ToolResult { images: vec![picture], ..result("c1", "a picture") };
    let failed = ToolResult::failure(long.into(), "no");
    vec![
        Arc::new(Message::User { origin: Origin::Person, parts: words }),
        Arc::new(Message::Assistant { parts: foreign }),
        Arc::new(Message::Tools { results: vec![seen, failed] }),
        answered(&[REASONING]),
        say("go on"),
        answered(&[REASONING, MESSAGE, CALL]),
        Arc::new(Message::Tools { results: vec![result("call_1234xyz", "sun")] }),
    ]
}

#[test]
fn a_request_is_what_the_documentation_asks_for() {
    let messages = &conversation()[..3];
    let tools = [tool("look", json!({ "type": "object" }))];
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA" });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let said = json!([{ "type": "output_text", "text": "let me look" }]);
    let stand_in = fit_id(&"x".repeat(65), 64).into_owned();
    let call = |id: &str, arguments: &str| {
        let kind = "function_call";
        json!({ "type": kind, "call_id": id, "name": "look", "arguments": arguments })
    };
    let output = |id: &str, output: Value| {
        let kind = "function_call_output";
        json!({ "type": kind, "call_id": id, "output": output })
    };
    let expected = json!({
        "model": "gpt-5",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": "be brief",
        "tools": [{
            "type": "function",
            "name": "look",
            "description": "Does look.",
            "parameters": { "type": "object" },
            "strict": false,
        }],
        "input": [
            { "type": "message", "role": "user", "content": [text("what is"), image] },
            { "type": "message", "role": "assistant", "content": said },
            call("c1", r#"{"path":"a"}"#),
            call(&stand_in, r#"{"unparsed":"not json"}"#),
            output("c1", json!([text("a picture"), image])),
            output(&stand_in, json!("Error: no")),
        ],
        "max_output_tokens": 99,
        "prompt_cache_key": cache_key(&me(), &request(messages, &tools)),
    });
    assert_eq!(fresh(&Responses, &me(), &request(messages, &tools)), expected);
    assert_eq!(Responses.path(&me()), "/responses");
    assert_eq!(Responses.key_header(), ("authorization", "Bearer "));
}

#[test]
fn what_may_differ_from_turn_to_turn_is_told() {
    let messages = [say("hi")];
    let tools = [tool("look", json!({}))];
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let plain = request(&messages, &tools);
    let choice = ToolChoice::None;
    let asked = Request { system: "", choice, schema: Some(&schema), max_output: 3, ..plain };
    let speaker = Speaker { effort: Some(Effort::High), ..me() };
    let body = fresh(&Responses, &speaker, &asked);
    assert_eq!(body["tool_choice"], "none");
    assert_eq!(body["reasoning"], json!({ "effort": "high" }));
    let mut mute = speaker.clone();
    mute.quirks.thinking = Thinking::None;
    let older = Speaker { model: "gpt-4o".to_owned(), ..speaker.clone() };
    for speaker in [mute, older] {
        assert_eq!(fresh(&Responses, &speaker, &asked).get("reasoning"), None);
    }
    let format =
        json!({ "type": "json_schema", "name": "answer", "schema": schema, "strict": true });
    assert_eq!(body["text"], json!({ "format": format }));
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body.get("instructions"), None);
    assert_eq!(
        Responses.head(&speaker, &asked),
        Responses.head(&me(), &Request { system: "", ..plain })
    );
    let without_tools = fresh(&Responses, &me(), &Request { choice, ..request(&messages, &[]) });
    assert_eq!((without_tools.get("tool_choice"), without_tools.get("tools")), (None, None));
}

#[test]
fn only_a_model_that_thinks_is_asked_for_its_thoughts() {
    let asked = |model| {
        let body = fresh(&Responses, &speaker("openai-responses", model), &request(&[], &[]));
        body.get("include").is_some()
    };
    assert!(["gpt-5", "gpt-5.1-chat-latest", "o3", "o4-mini", "gpt-6"].into_iter().all(asked));
    let older = ["gpt-4o", "gpt-4.1-mini", "ft:gpt-4o:us::1", "gpt-5-chat-latest", "gpt-3.5-turbo"];
    assert!(!older.into_iter().any(asked));
}

#[test]
fn what_was_sent_once_is_the_beginning_of_what_is_sent_next() {
    assert_only_grows(&Responses, &me(), &conversation());
}

#[test]
fn the_models_own_items_are_handed_back_letter_by_letter_and_in_order() {
    let items = [REASONING, MESSAGE, SEARCH, REASONING, CALL];
    let messages = [say("weather?"), answered(&items)];
    let mut bytes = Vec::new();
    Responses.message(&me(), &messages[..1], &messages[1], &mut bytes);
    assert_eq!(String::from_utf8(bytes).unwrap(), format!(",{}", items.join(",")));
}

#[test]
fn reasoning_is_never_without_the_very_item_that_it_led_to() {
    for (items, expected) in [
        (vec![MESSAGE, REASONING], json!([["message", "msg_1"]])),
        (vec![REASONING, REASONING], json!([])),
        (vec![REASONING, SEARCH], json!([["reasoning", "rs_1"], ["web_search_call", "ws_1"]])),
        (
            vec![REASONING, MESSAGE, REASONING, CUT],
            json!([["message", null], ["function_call", null]]),
        ),
    ] {
        let mut sent = sent(&me(), &[say("hi"), answered(&items), say("and?")]);
        let sent = sent.as_array_mut().unwrap();
        let kept = sent[1..sent.len() - 1].iter().map(|item| json!([item["type"], item["id"]]));
        assert_eq!(kept.collect::<Value>(), expected, "{items:?}");
    }
    let nothing_first = sent(&me(), &[answered(&[REASONING]), say("hi")]);
    assert_eq!(nothing_first.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_call_whose_id_has_to_be_replaced_still_has_its_result() {
    let odd = CALL.replace("call_1234xyz", "functions.get_weather:0");
    let results = vec![result("functions.get_weather:0", "sun")];
    let messages = [say("hi"), answered(&[&odd]), Arc::new(Message::Tools { results })];
    let sent = sent(&me(), &messages);
    assert_eq!(sent[1]["call_id"], sent[2]["call_id"]);
    assert_eq!(sent[1].get("id"), None);
}

#[test]
fn another_model_is_told_the_same_in_plain_words() {
    let messages = [say("weather?"), answered(&[REASONING, MESSAGE, SEARCH, CALL])];
    let said = json!([{ "type": "output_text", "text": "I will look." }]);
    let paris = r#"{"location":"Paris, France"}"#;
    let call = json!({
        "type": "function_call",
        "call_id": "call_1234xyz",
        "name": "get_weather",
        "arguments": paris,
    });
    let other = sent(&speaker("openai-responses", "o3"), &messages);
    let said = json!({ "type": "message", "role": "assistant", "content": said });
    assert_eq!(other.as_array().unwrap()[1..], [said, call]);
    let chat = fresh(&Chat, &speaker("mistral", "m"), &request(&messages, &[]));
    let function = json!({ "name": "get_weather", "arguments": paris });
    let answer = &chat["messages"][2];
    assert_eq!(
        (&answer["content"], &answer["tool_calls"][0]["function"]),
        (&json!("I will look."), &function)
    );
    assert_eq!(answer.as_object().map(|answer| answer.len()), Some(3));
}

#[test]
fn words_of_another_models_become_items_of_this_one() {
    let details = r#"[{"type":"reasoning.text","text":"hm"}]"#;
    let foreign = speaker("openrouter", "m").native(details);
    let parts =
        vec![Part::Reasoning { text: "hm".to_owned(), native: Some(foreign) }, Part::text("hello")];
    let messages =
        [say("hi"), Arc::new(Message::Assistant { parts }), answered(&[REASONING, CALL])];
    let sent = sent(&me(), &messages);
    let kinds: Vec<_> = sent.as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["message", "message", "reasoning", "function_call"]);
}

#[test]
fn the_example_of_the_documentation_is_one_call() {
    let delta = |piece: &str| {
        json!({
            "type": "response.function_call_arguments.delta", "response_id": "resp_1234xyz",
            "item_id": "fc_1234xyz", "output_index": 0, "delta": piece,
        })
    };
    let added = json!({
        "type": "response.output_item.added", "response_id": "resp_1234xyz", "output_index": 0,
        "item": { "type": "function_call", "id": "fc_1234xyz", "call_id": "call_1234xyz",
                  "name": "get_weather", "arguments": "" },
    });
    let whole = json!({
        "type": "response.function_call_arguments.done", "response_id": "resp_1234xyz",
        "item_id": "fc_1234xyz", "output_index": 0, "arguments": "{\"location\":\"Paris, France\"}",
    });
    let mut events = vec![added.to_string()];
    let pieces = ["{\"", "location", "\":\"", "Paris", ",", " France", "\"}"];
    events.extend(pieces.map(|piece| delta(piece).to_string()));
    let usage = json!({
        "input_tokens": 328,
        "input_tokens_details": { "cached_tokens": 64 },
        "output_tokens": 52,
        "output_tokens_details": { "reasoning_tokens": 7 },
    });
    let last = format!(r#"{{"status":"completed","output":[{CALL}],"usage":{usage}}}"#);
    events.extend([whole.to_string(), done(0, CALL), end("completed", &last)]);
    let arguments = json!({ "location": "Paris, France" });
    let (id, name) = ("call_1234xyz".into(), "get_weather".to_owned());
    let usage = Usage { input: 328, output: 52, cache_read: 64, cache_write: 0, reasoning: 7 };
    let expected = [
        Delta::Part(Part::Call(ToolCall { id, name, arguments, native: native(CALL) })),
        Delta::Usage(usage),
        Delta::Stop(StopReason::Calls),
    ];
    assert_eq!(answer(&events).unwrap(), expected);
}

#[test]
fn words_and_thoughts_are_shown_as_they_come_and_kept_as_items() {
    let thought = |place: usize, text: &str| {
        let kind = "response.reasoning_summary_text.delta";
        json!({ "type": kind, "output_index": 0, "summary_index": place, "delta": text })
            .to_string()
    };
    let word = |text: &str| {
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": text })
            .to_string()
    };
    let kind = "response.reasoning_text.delta";
    let raw = json!({ "type": kind, "output_index": 2, "content_index": 0, "delta": "raw" });
    let events = [
        end("created", r#"{"status":"in_progress","output":[],"usage":null}"#),
        thought(0, "**Lo"),
        thought(0, "ok**"),
        thought(1, "first"),
        done(0, REASONING),
        word("I will"),
        word(" look."),
        done(1, MESSAGE),
        raw.to_string(),
        done(2, SEARCH),
        end("completed", r#"{"output":[]}"#),
        word("too late"),
    ];
    let thoughts = ["**Lo", "ok**", "\n\n", "first"].map(|text| Delta::Reasoning(text.to_owned()));
    let look = Part::Reasoning { text: "**Look**\n\nfirst".to_owned(), native: native(REASONING) };
    let said = Part::Text { text: "I will look.".to_owned(), native: native(MESSAGE) };
    let search = Part::Reasoning { text: String::new(), native: native(SEARCH) };
    let mut expected = thoughts.to_vec();
    expected.extend([
        Delta::Part(look),
        Delta::Text("I will".to_owned()),
        Delta::Text(" look.".to_owned()),
        Delta::Part(said),
        Delta::Reasoning("\n\n".to_owned()),
        Delta::Reasoning("raw".to_owned()),
        Delta::Part(search),
        Delta::Stop(StopReason::Done),
    ]);
    assert_eq!(answer(&events).unwrap(), expected);
}

#[test]
fn what_servers_leave_out_is_made_up_for() {
    let open =
        r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#;
    let unnamed = r#"{"type":"function_call","name":"look","arguments":""}"#;
    let messages = [say("hi"), answered(&[open, unnamed])];
    let (id, name) = ("call_3_0".into(), "look".to_owned());
    let expected = [
        Part::Reasoning { text: "hm".to_owned(), native: native(open) },
        Part::Call(ToolCall { id, name, arguments: json!({}), native: None }),
    ];
    assert_eq!(messages[1].parts(), expected);
    assert_eq!(sent(&me(), &messages)[1]["call_id"], "call_3_0");
}

#[test]
fn an_item_that_is_told_only_at_the_end_is_taken_once() {
    let all = format!(r#"{{"output":[{REASONING},{MESSAGE},{CALL}]}}"#);
    let without_place =
        |item: &str| format!(r#"{{"type":"response.output_item.done","item":{item}}}"#);
    let all_at_once = answer(&[end("completed", &all)]).unwrap();
    assert_eq!(all_at_once.len(), 4);
    for events in [
        vec![done(0, REASONING), done(1, MESSAGE), end("completed", &all)],
        vec![without_place(REASONING), without_place(MESSAGE), end("completed", &all)],
    ] {
        assert_eq!(answer(&events).unwrap(), all_at_once);
    }
}

#[test]
fn an_answer_that_was_cut_short_says_why() {
    let end = |details: &str| {
        let usage = r#"{"input_tokens":9,"output_tokens":16}"#;
        let response =
            format!(r#"{{"output":[{CUT}],"usage":{usage},"incomplete_details":{details}}}"#);
        let deltas = answer(&[done(0, CUT), end("incomplete", &response)]).unwrap();
        assert_eq!(deltas[1], Delta::Usage(Usage { input: 9, output: 16, ..Usage::default() }));
        let [Delta::Part(Part::Call(call)), .., Delta::Stop(stop)] = &deltas[..] else {
            panic!("{deltas:?}")
        };
        assert_eq!((&call.arguments, &call.native), (&json!("{\"pa"), &None));
        *stop
    };
    assert_eq!(end(r#"{"reason":"max_output_tokens"}"#), StopReason::Length);
    assert_eq!(end(r#"{"reason":"content_filter"}"#), StopReason::Filtered);
    assert_eq!(end("null"), StopReason::Length);
}

#[test]
fn a_refusal_is_said_and_ends_the_answer() {
    let content = r#"[{"type":"refusal","refusal":"I cannot."}]"#;
    let item = &format!(r#"{{"id":"msg_2","type":"message","content":{content}}}"#);
    let delta = r#"{"type":"response.refusal.delta","output_index":0,"delta":"I cannot."}"#;
    let part = Part::Text { text: "I cannot.".to_owned(), native: native(item) };
    let rest = [Delta::Part(part), Delta::Stop(StopReason::Filtered)];
    let shown = answer(&[delta.to_owned(), done(0, item), end("completed", "{}")]).unwrap();
    assert_eq!(shown[0], Delta::Text("I cannot.".to_owned()));
    assert_eq!(shown[1..], rest);
    assert_eq!(answer(&[done(0, item), end("completed", "{}")]).unwrap(), rest);
    let only_shown = answer(&[delta.to_owned(), end("completed", "{}")]).unwrap();
    assert_eq!(only_shown.last(), Some(&Delta::Stop(StopReason::Filtered)));
}

#[test]
fn half_an_answer_is_not_taken_for_a_whole_one() {
    let deltas = answer(&[done(0, MESSAGE)]).unwrap();
    assert!(matches!(deltas[..], [Delta::Part(Part::Text { .. })]), "{deltas:?}");
}

#[test]
fn a_failure_keeps_its_kind() {
    let failed = |error: &str| {
        let response = format!(r#"{{"status":"failed","error":{error},"output":[]}}"#);
        answer(&[end("failed", &response)]).unwrap_err()
    };
    let busy = failed(r#"{"code":"rate_limit_exceeded","message":"Please try again in 11.5s."}"#);
    assert_eq!(busy.trouble, Trouble::Busy);
    assert_eq!(busy.retry_after, Some(std::time::Duration::from_millis(11_500)));
    let server = r#"{"code":"server_error","message":"The model failed to generate a response."}"#;
    assert_eq!(failed(server).trouble, Trouble::Busy);
    let long = r#"{"code":"context_length_exceeded","message":"too long"}"#;
    assert_eq!(failed(long).trouble, Trouble::TooLong);
    assert_eq!(failed(r#"{"code":"invalid_prompt","message":"no"}"#).trouble, Trouble::Refused);
    assert_eq!(failed("null").trouble, Trouble::Broken);
    let event = |rest: &str| answer(&[format!(r#"{{"type":"error",{rest}}}"#)]).unwrap_err();
    let flat = event(r#""code":"server_error","message":"oops","param":null"#);
    assert_eq!((flat.trouble, flat.message.as_str()), (Trouble::Busy, "oops"));
    let deep = event(r#""error":{"code":"server_error","message":"oops"}"#);
    assert_eq!((deep.trouble, deep.message.as_str()), (Trouble::Busy, "oops"));
}

#[test]
fn what_is_not_known_is_passed_over() {
    let odd = r#"{"type":"response.new_thing","delta":{"a":1},"item":3}"#.to_owned();
    let events = [odd, "[DONE]".to_owned(), end("completed", "{}"), "[DONE]".to_owned()];
    assert_eq!(answer(&events).unwrap(), [Delta::Stop(StopReason::Done)]);
}
