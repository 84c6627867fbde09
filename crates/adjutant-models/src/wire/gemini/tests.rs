//! What is sent to Gemini. The examples with signatures are those of its documentation.

use adjutant_core::{Origin, WireLog};

use super::*;
use crate::wire::testing;

fn speaker() -> Speaker {
    testing::speaker("gemini", "gemini-3-pro")
}

fn user(text: &str) -> Message {
    Message::user(Origin::Person, text)
}

fn model(parts: impl Into<Vec<Part>>) -> Message {
    Message::Assistant { parts: parts.into() }
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.to_owned(), arguments, native: None }
}

fn result(call: &str, text: &str) -> ToolResult {
    ToolResult { failed: false, ..ToolResult::failure(call.into(), text) }
}

fn tools(results: &[(&str, &str)]) -> Message {
    Message::Tools { results: results.iter().map(|(call, text)| result(call, text)).collect() }
}

/// Returns what the model says in events of one part each.
fn answer(parts: &[&str]) -> Message {
    let event = |part: &&str| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#);
    let end = r#"{"candidates":[{"finishReason":"STOP"}]}"#.to_owned();
    let events: Vec<_> = parts.iter().map(event).chain([end]).collect();
    let deltas = testing::read(&Gemini, &speaker(), &events).unwrap();
    Arc::unwrap_or_clone(testing::message(&deltas))
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn shared(messages: impl IntoIterator<Item = Message>) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

fn contents(messages: impl IntoIterator<Item = Message>) -> Value {
    let messages = shared(messages);
    testing::fresh(&Gemini, &speaker(), &testing::request(&messages, &[]))["contents"].take()
}

fn response(name: &str, response: &Value) -> Value {
    json!({ "functionResponse": { "name": name, "response": response } })
}

#[test]
fn a_request_is_what_the_documentation_asks_for() {
    let (tool, messages) = (testing::tool("look", json!({ "type": "object" })), [user("hi")]);
    let (tools, messages) = ([tool], shared(messages));
    let request = testing::request(&messages, &tools);
    let (body, _) = testing::body(&Gemini, &speaker(), &request, &mut WireLog::default());
    let expected = concat!(
        r#"{"tools":[{"functionDeclarations":[{"description":"Does look.","name":"look","#,
        r#""parametersJsonSchema":{"type":"object"}}]}],"#,
        r#""systemInstruction":{"parts":[{"text":"be brief"}]},"#,
        r#""contents":[{"role":"user","parts":[{"text":"hi"}]}],"#,
        r#""generationConfig":{"maxOutputTokens":99}}"#,
    );
    assert_eq!(body, expected);
    let bare = Request { system: "", tools: &[], choice: ToolChoice::None, ..request };
    let body = testing::fresh(&Gemini, &speaker(), &bare);
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["contents", "generationConfig"]);
    let none = Request { choice: ToolChoice::None, ..request };
    let mode = json!({ "functionCallingConfig": { "mode": "NONE" } });
    assert_eq!(testing::fresh(&Gemini, &speaker(), &none)["toolConfig"], mode);
}

#[test]
fn a_model_is_part_of_the_address_and_a_key_is_not() {
    assert_eq!(Gemini.path(&speaker()), "/models/gemini-3-pro:streamGenerateContent?alt=sse");
    let odd = testing::speaker("gemini", "a/b?c ü");
    assert_eq!(Gemini.path(&odd), "/models/a%2Fb%3Fc%20%C3%BC:streamGenerateContent?alt=sse");
    assert_eq!(Gemini.key_header(), ("x-goog-api-key", ""));
}

#[test]
fn words_pictures_and_results_are_parts_of_what_the_user_says() {
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".into() };
    let words = vec![Part::text("what"), Part::text(""), Part::Image(image.clone())];
    let seen = ToolResult { images: vec![image], ..result("c1", "a picture") };
    let failed = ToolResult::failure("c2".into(), "no");
    let calls = [call("c1", "look", json!({})), call("c2", "hear", json!({}))];
    let sent = contents([
        Message::User { origin: Origin::Person, parts: words },
        model(calls.map(Part::Call)),
        Message::Tools { results: vec![seen, failed] },
        user("go on"),
    ]);
    let picture = json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } });
    assert_eq!(sent[0], json!({ "role": "user", "parts": [{ "text": "what" }, picture] }));
    let expected = json!([
        response("look", &json!({ "output": "a picture" })),
        response("hear", &json!({ "error": "no" })),
        picture,
        { "text": "go on" },
    ]);
    assert_eq!(sent[2], json!({ "role": "user", "parts": expected }));
    assert_eq!(sent.as_array().unwrap().len(), 3);
}

#[test]
fn each_signature_goes_back_letter_by_letter_where_it_came_from() {
    let flight = r#"{"functionCall": {"name": "check_flight", "args": {"flight": "AA100"}}, "thoughtSignature": "<Signature A>"}"#;
    let taxi = r#"{ "thoughtSignature": "<Signature B>", "functionCall": {"args": {"time": "10 AM"}, "name": "book_taxi"} }"#;
    let messages = shared([
        user("Book a taxi if AA100 is delayed."),
        answer(&[flight]),
        tools(&[("call_3_0", "delayed")]),
        answer(&[taxi]),
        tools(&[("call_3_0", "success")]),
    ]);
    let request = testing::request(&messages, &[]);
    let (body, _) = testing::body(&Gemini, &speaker(), &request, &mut WireLog::default());
    let expected = [
        r#""contents":[{"role":"user","parts":[{"text":"Book a taxi if AA100 is delayed."}"#,
        &format!(r#"{{"role":"model","parts":[{flight}"#),
        r#"{"role":"user","parts":[{"functionResponse":{"name":"check_flight","response":{"output":"delayed"}}}"#,
        &format!(r#"{{"role":"model","parts":[{taxi}"#),
        r#"{"role":"user","parts":[{"functionResponse":{"name":"book_taxi","response":{"output":"success"}}}"#,
    ];
    let expected = expected.join("]},") + "]}],";
    assert!(body.contains(&expected), "{body}");
}

#[test]
fn calls_at_once_are_answered_at_once_by_the_ids_the_model_gave() {
    let paris = r#"{"functionCall":{"id":"fc_1","name":"temperature","args":{"location":"Paris"}},"thoughtSignature":"<Signature_A>"}"#;
    let london = r#"{"functionCall":{"name":"temperature","args":{"location":"London"}}}"#;
    let sent = contents([
        user("Check the weather in Paris and London."),
        answer(&[paris, london]),
        tools(&[("fc_1", "15C"), ("call_3_1", "12C")]),
    ]);
    assert_eq!(sent[1]["parts"], json!([value(paris), value(london)]));
    let mut first = response("temperature", &json!({ "output": "15C" }));
    first["functionResponse"]["id"] = "fc_1".into();
    let second = response("temperature", &json!({ "output": "12C" }));
    assert_eq!(sent[2]["parts"], json!([first, second]));
}

#[test]
fn a_signature_goes_back_though_it_came_with_no_words_or_with_a_thought() {
    let thought = r#"{"text":"hm","thought":true,"thoughtSignature":"<Signature_D>"}"#;
    let last = r#"{"text":"","thoughtSignature":"<Signature_C>"}"#;
    let summary = r#"{"text":"I think","thought":true}"#;
    let said = [summary, thought, r#"{"text":"four"}"#, r#"{"text":"teen"}"#, last];
    let sent = contents([user("7 + 7?"), answer(&said)]);
    let expected = json!([value(thought), { "text": "fourteen" }, value(last)]);
    assert_eq!(sent[1]["parts"], expected);
}

#[test]
fn what_another_model_said_is_put_in_plain_words() {
    let other = testing::speaker("gemini", "gemini-2.5-pro");
    let native = Some(other.native(r#"{"functionCall":{"id":"x"},"secret":true}"#));
    let thought = Part::Reasoning { text: "hm".to_owned(), native: native.clone() };
    let words = Part::Text { text: "let me look".to_owned(), native: native.clone() };
    let first = ToolCall { native, ..call("x", "look", json!({ "at": 1 })) };
    let second = call("y", "hear", json!("not json"));
    let sent = contents([
        user("go"),
        model([thought, words, Part::Call(first), Part::Call(second)]),
        tools(&[("x", "1"), ("y", "2"), ("z", "3")]),
    ]);
    let expected = json!([
        { "text": "let me look" },
        {
            "functionCall": { "name": "look", "args": { "at": 1 } },
            "thoughtSignature": "skip_thought_signature_validator",
        },
        { "functionCall": { "name": "hear", "args": { "unparsed": "not json" } } },
    ]);
    assert_eq!(sent[1], json!({ "role": "model", "parts": expected }));
    let results = [("look", "1"), ("hear", "2"), ("tool", "3")];
    let results = results.map(|(name, text)| response(name, &json!({ "output": text })));
    assert_eq!(sent[2]["parts"], json!(results));
}

#[test]
fn a_name_that_the_model_made_up_is_the_same_in_the_call_and_its_result() {
    let own = r#"{"functionCall":{"name":"fs.list dir"}}"#;
    let sent = contents([
        user("go"),
        model([Part::Call(call("x", "fs.list dir", json!({})))]),
        tools(&[("x", "1")]),
        answer(&[own]),
        tools(&[("call_3_0", "2")]),
    ]);
    assert_eq!(sent[1]["parts"][0]["functionCall"]["name"], "fs_list_dir");
    assert_eq!(sent[2]["parts"], json!([response("fs_list_dir", &json!({ "output": "1" }))]));
    assert_eq!(sent[3]["parts"], json!([value(own)]));
    assert_eq!(sent[4]["parts"], json!([response("fs.list dir", &json!({ "output": "2" }))]));
}

/// A conversation in which one side speaks several times, and sometimes says nothing.
fn conversation() -> Vec<Arc<Message>> {
    let silent = || model([Part::text("")]);
    let signed = r#"{"functionCall":{"name":"look"},"thoughtSignature":"<Signature A>"}"#;
    shared([
        user("a"),
        user("b"),
        silent(),
        user("c"),
        model([Part::text("d")]),
        silent(),
        model([Part::Call(call("x", "look", json!({})))]),
        tools(&[("x", "e")]),
        user("f"),
        answer(&[signed]),
        tools(&[("call_3_0", "g")]),
        answer(&[r#"{"text":"h"}"#]),
    ])
}

#[test]
fn turns_and_forks_only_add_to_what_was_sent() {
    testing::assert_only_grows(&Gemini, &speaker(), &conversation());
}

#[test]
fn the_two_sides_take_turns() {
    let messages = conversation();
    for length in 1..=messages.len() {
        let request = testing::request(&messages[..length], &[]);
        let body = testing::fresh(&Gemini, &speaker(), &request);
        let roles = body["contents"].as_array().unwrap().iter().map(|content| &content["role"]);
        let expected = ["user", "model"].into_iter().cycle();
        assert!(roles.zip(expected).all(|(role, expected)| role == expected), "{body}");
    }
    let sent = contents(messages.iter().map(|message| (**message).clone()));
    let sizes = sent.as_array().unwrap().iter().map(|it| it["parts"].as_array().unwrap().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [3, 2, 2, 1, 1, 1]);
}

#[test]
fn the_user_speaks_first() {
    let nothing = json!({ "role": "user", "parts": [{ "text": "(no words)" }] });
    assert_eq!(contents([user("")]), json!([nothing]));
    let said = || model([Part::text("hello")]);
    let hello = json!({ "role": "model", "parts": [{ "text": "hello" }] });
    assert_eq!(contents([user(""), said()]), json!([nothing, hello]));
    assert_eq!(contents([said()]), json!([nothing, hello]));
    let go = json!({ "role": "user", "parts": [{ "text": "(no words)" }, { "text": "go" }] });
    assert_eq!(contents([user(""), user("go")]), json!([go]));
}

#[test]
fn an_effort_is_a_level_or_a_budget_that_leaves_room_for_the_answer() {
    let told = |thinking, effort, max_output| {
        let mut speaker = Speaker { effort: Some(effort), ..speaker() };
        speaker.quirks.thinking = thinking;
        let request = Request { max_output, ..testing::request(&[], &[]) };
        let tail = Gemini.tail(&speaker, &request);
        let tail = String::from_utf8(tail).unwrap().replace("]}],", "{");
        value(&tail)["generationConfig"]["thinkingConfig"].clone()
    };
    let level = json!({ "includeThoughts": true, "thinkingLevel": "medium" });
    assert_eq!(told(Thinking::Level, Effort::Medium, 99), level);
    for (effort, max_output, budget) in [
        (Effort::Low, 65_536, 4096),
        (Effort::Medium, 65_536, 12_288),
        (Effort::High, 65_536, 24_576),
        (Effort::High, 8192, 7168),
    ] {
        let expected = json!({ "includeThoughts": true, "thinkingBudget": budget });
        assert_eq!(told(Thinking::Budget, effort, max_output), expected);
    }
    let own = json!({ "includeThoughts": true });
    assert_eq!(told(Thinking::Budget, Effort::High, 2047), own);
    assert_eq!(told(Thinking::None, Effort::High, 8192), Value::Null);
}

#[test]
fn a_schema_is_sent_where_it_is_not_refused() {
    let messages = shared([user("hi")]);
    let (tools, schema) = ([testing::tool("look", json!({}))], json!({ "type": "array" }));
    let sent = |quirk, tools: &[Arc<_>]| {
        let mut speaker = speaker();
        speaker.quirks.schema = quirk;
        let request = Request { schema: Some(&schema), ..testing::request(&messages, tools) };
        let config = testing::fresh(&Gemini, &speaker, &request)["generationConfig"].take();
        (config["responseMimeType"].clone(), config["responseJsonSchema"].clone())
    };
    let all = (json!("application/json"), schema.clone());
    assert_eq!(sent(Schema::Told, &[]), all);
    assert_eq!(sent(Schema::Native, &tools), all);
    assert_eq!(sent(Schema::Told, &tools), (json!(null), json!(null)));
    assert_eq!(speaker().quirks.schema, Schema::Told, "models before 3 refuse both together");
}
