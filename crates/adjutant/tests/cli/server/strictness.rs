//! The server is as strict as it says: what is wrong is refused, and the test fails.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{Act, Chat, Format, Gemini, KEY, Messages, Responses, Said, Server};

/// What is done to a body, in the form `(place, value, why it is refused)`. Nothing takes
/// away what is there, and the place `-` is after the last.
type Change = (&'static str, Value, &'static str);

/// Checks that a body is taken as it is and refused with any of the changes.
fn refuses(format: &dyn Format, good: &Value, said: &[Said], changes: Vec<Change>) {
    assert_eq!(format.check(good, said), Ok(()));
    for (place, value, why) in changes {
        let mut bad = good.clone();
        change(&mut bad, place, value);
        let verdict = format.check(&bad, said);
        assert!(verdict.as_ref().is_err_and(|it| it.contains(why)), "{place}: {verdict:?}");
    }
}

fn change(body: &mut Value, place: &str, value: Value) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Object(fields) if value.is_null() => assert!(fields.remove(name).is_some()),
        Value::Object(fields) => drop(fields.insert(name.to_owned(), value)),
        Value::Array(list) if name == "-" => list.push(value),
        Value::Array(list) if value.is_null() => drop(list.remove(name.parse().unwrap())),
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        other => panic!("{other} has no {name}"),
    }
}

/// An answer with thoughts, words and two calls, and one in words alone.
fn answers(format: &dyn Format) -> [Said; 2] {
    let calls = [("look", json!({ "at": 1 })), ("look", json!({ "at": 2 }))];
    let first = [format.thoughts("hm"), format.words("I look."), format.calls(&calls)].concat();
    [first, format.words("done")]
}

fn look(schema: &str) -> Value {
    json!({ "name": "look", "description": "Looks.", schema: { "type": "object" } })
}

#[test]
fn chat_completions() {
    let said = answers(&Chat);
    let assistant = super::chat::message(&said[0]);
    let result = |call: usize| {
        let id = &assistant["tool_calls"][call]["id"];
        json!({ "role": "tool", "tool_call_id": id, "content": "" })
    };
    let user = json!({ "role": "user", "content": "go" });
    let tool = json!({ "type": "function", "function": look("parameters") });
    let system = json!({ "role": "system", "content": "be brief" });
    let body = json!({
        "model": "m", "stream": true, "max_tokens": 9, "tools": [tool],
        "messages": [system, user, assistant, result(0), result(1)],
    });
    let changes = vec![
        ("/model", json!(""), "a text is empty"),
        ("/stream", json!(false), "a stream was not asked for"),
        ("/messages", Value::Null, "`messages` is missing"),
        ("/top_k", json!(1), "\"top_k\") is not permitted"),
        ("/max_tokens", json!(0), "not at least 1"),
        ("/reasoning_effort", json!("lots"), "no effort"),
        ("/temperature", json!(2.5), "temperature is out of bounds"),
        ("/top_p", json!("most"), "top_p is out of bounds"),
        ("/stream_options", json!({ "usage": true }), "is not permitted"),
        ("/max_completion_tokens", json!(9), "two limits"),
        ("/tools", json!([]), "not a list with something in it"),
        ("/tools/-", tool, "two tools are called look"),
        ("/tools/0/function/name", json!("a b"), "no name of a tool"),
        ("/tools/0/function/parameters/type", json!("string"), "are no object"),
        ("/messages/1", Value::Null, "the user comes first"),
        ("/messages/1/content", json!(" "), "a text is empty"),
        ("/messages/2/reasoning_details/1/data", json!("forged"), "not what the model said"),
        ("/messages/2/content", Value::Null, "not what the model said"),
        ("/messages/2/tool_calls/0/function/arguments", json!("{}"), "not what the model said"),
        ("/messages/3", Value::Null, "calls without results"),
        ("/messages/3", user, "calls without results"),
        ("/messages/4", result(0), "which nobody called or which has one"),
        ("/messages/4/content", json!(1), "a result is no text"),
        ("/messages/-", system, "the system comes first"),
        ("/messages/-", json!({ "role": "function" }), "nobody's message"),
        ("/messages/-", super::chat::message(&said[1]), "has not the last word"),
        ("/messages/-", assistant.clone(), "two calls are called"),
    ];
    refuses(&Chat, &body, &said, changes);
}

#[test]
fn messages() {
    let said = answers(&Messages);
    let mark = json!({ "type": "ephemeral" });
    let result = |call: usize| {
        let id = &said[0][3 + call]["id"];
        json!({ "type": "tool_result", "tool_use_id": id, "content": "seen" })
    };
    let words = json!({ "type": "text", "text": "go", "cache_control": mark });
    let assistant = json!({ "role": "assistant", "content": said[0] });
    let body = json!({
        "model": "m", "stream": true, "max_tokens": 9, "tools": [look("input_schema")],
        "system": [words],
        "messages": [
            { "role": "user", "content": [words] },
            assistant,
            { "role": "user", "content": [result(0), result(1), words] },
        ],
    });
    let thought = "/messages/1/content/0/cache_control";
    let changes = vec![
        ("/max_tokens", Value::Null, "`max_tokens` is missing"),
        ("/prompt_cache_key", json!("x"), "is not permitted"),
        ("/thinking", json!({ "effort": "low" }), "is not permitted"),
        ("/output_config", json!({ "thinking": "low" }), "is not permitted"),
        ("/tools/0/strict", json!(true), "is not permitted"),
        ("/tools/-", look("input_schema"), "two tools are called look"),
        ("/system/0/text", json!(""), "a text is empty"),
        ("/messages/0", Value::Null, "message 0 is not the user's"),
        ("/messages/1/role", json!("user"), "message 1 is not the assistant's"),
        ("/messages/-", assistant, "has not the last word"),
        ("/messages/0/content", json!([]), "not a list with something in it"),
        ("/messages/0/content/0/text", json!("\n"), "a text is empty"),
        (thought, mark, "a thought bears a mark"),
        ("/system/0/cache_control", json!({ "type": "forever" }), "not a mark"),
        ("/messages/1/content/0/signature", json!("forged"), "not what the model said"),
        ("/messages/1/content/1", Value::Null, "not what the model said"),
        ("/messages/1/content/3/input", json!({}), "not what the model said"),
        ("/messages/2/content/0", Value::Null, "calls without results"),
        ("/messages/2/content/0", result(1), "which nobody called or which has one"),
        ("/messages/2/content/0", words.clone(), "not a text"),
        ("/messages/2/content/0/content", json!(""), "a text is empty"),
        ("/messages/2/content/0/is_error", json!("no"), "neither right nor wrong"),
        ("/messages/2/content", json!([words]), "calls without results"),
    ];
    refuses(&Messages, &body, &said, changes);
    let five = json!([words, words, words]);
    refuses(&Messages, &body, &said, vec![("/system", five, "5 marks are more than 4")]);
}

#[test]
fn responses() {
    let said = answers(&Responses);
    let result = |call: usize| {
        let id = &said[0][2 + call]["call_id"];
        json!({ "type": "function_call_output", "call_id": id, "output": "" })
    };
    let content = json!([{ "type": "input_text", "text": "go" }]);
    let user = json!({ "type": "message", "role": "user", "content": content });
    let mut tool = look("parameters");
    tool["type"] = "function".into();
    tool["strict"] = false.into();
    let input = [vec![user.clone()], said[0].clone(), vec![result(0), result(1)]].concat();
    let body = json!({
        "model": "m", "stream": true, "store": false, "max_output_tokens": 16, "tools": [tool],
        "include": ["reasoning.encrypted_content"], "input": input,
    });
    let changes = vec![
        ("/store", Value::Null, "`store` is missing"),
        ("/store", json!(true), "would be stored"),
        ("/include", json!([]), "could not be handed back"),
        ("/max_tokens", json!(16), "is not permitted"),
        ("/reasoning", json!({ "budget": 1 }), "is not permitted"),
        ("/max_output_tokens", json!(15), "not at least 16"),
        ("/tools/0/function", json!({}), "is not permitted"),
        ("/tools/-", tool, "two tools are called look"),
        ("/input/0", Value::Null, "the user comes first"),
        ("/input/0/content/0/type", json!("text"), "not what a user says"),
        ("/input/0/content/0/text", json!(""), "a text is empty"),
        ("/input/1", Value::Null, "not what the model said"),
        ("/input/1/encrypted_content", json!("forged"), "not what the model said"),
        ("/input/2/id", Value::Null, "not what the model said"),
        ("/input/3/arguments", json!("{}"), "not what the model said"),
        ("/input/5", Value::Null, "calls without results"),
        ("/input/5", user, "calls without results"),
        ("/input/5", result(1), "which nobody called or which has one"),
        ("/input/6/output", json!(1), "a result is no text"),
        ("/input/-", json!({ "type": "item_reference", "id": "x" }), "is missing"),
        ("/input/-", said[1][0].clone(), "has not the last word"),
        ("/input/-", said[0][0].clone(), "reasoning without what it led to"),
    ];
    refuses(&Responses, &body, &said, changes);
}

#[test]
fn gemini() {
    let said = answers(&Gemini);
    // The thought itself need not come back.
    let parts = &said[0][1..];
    let result = |call: usize| {
        let id = &parts[2 + call]["functionCall"]["id"];
        json!({ "functionResponse": { "name": "look", "id": id, "response": { "output": "" } } })
    };
    let model = json!({ "role": "model", "parts": parts });
    let function = look("parametersJsonSchema");
    let body = json!({
        "tools": [{ "functionDeclarations": [function] }],
        "generationConfig": { "maxOutputTokens": 9 },
        "systemInstruction": { "parts": [{ "text": "be brief" }] },
        "contents": [
            { "role": "user", "parts": [{ "text": "go" }] },
            model,
            { "role": "user", "parts": [result(0), result(1), { "text": "and?" }] },
        ],
    });
    let response = "/contents/2/parts/1/functionResponse";
    let changes = vec![
        ("/model", json!("m"), "is not permitted"),
        ("/generationConfig/maxOutputTokens", Value::Null, "is missing"),
        ("/generationConfig/max_output_tokens", json!(9), "is not permitted"),
        ("/generationConfig/thinkingConfig", json!({ "effort": "low" }), "is not permitted"),
        ("/tools/0/functionDeclarations/-", function, "two tools are called look"),
        ("/tools/0/functionDeclarations/0/parameters", json!({}), "is not permitted"),
        ("/systemInstruction/parts/0/text", json!(""), "a text is empty"),
        ("/contents/0", Value::Null, "message 0 is not the user's"),
        ("/contents/0/parts", json!([]), "not a list with something in it"),
        ("/contents/0/parts/0/text", json!(""), "a text is empty"),
        ("/contents/1/role", json!("assistant"), "message 1 is not the model's"),
        ("/contents/-", model, "has not the last word"),
        ("/contents/1/parts/0", Value::Null, "not what the model said"),
        ("/contents/1/parts/2/thoughtSignature", Value::Null, "not what the model said"),
        ("/contents/1/parts/3/functionCall/id", Value::Null, "not what the model said"),
        ("/contents/2/parts/1", Value::Null, "1 results for 2 calls"),
        ("/contents/2/parts/0", json!({ "text": "x" }), "0 results for 2 calls"),
        ("/contents/2/parts/0", result(1), "is not the result of"),
        (response, json!({ "name": "look", "response": {} }), "is not the result of"),
        ("/contents/2/parts/1/functionResponse/name", json!("tool"), "is not the result of"),
        ("/contents/2/parts/1/functionResponse/response", json!("x"), "a result is no object"),
        ("/contents/2/parts/2/thought", json!(true), "is not permitted"),
    ];
    refuses(&Gemini, &body, &said, changes);
}

/// Sends a request to a server and returns the first line of its answer.
fn send(server: &Server, line: &str, headers: &str) -> String {
    let user = json!({ "role": "user", "parts": [{ "text": "go" }] });
    let config = json!({ "maxOutputTokens": 9 });
    let body = json!({ "contents": [user], "generationConfig": config }).to_string();
    let address = server.address.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n");
    connection.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = [0; 12];
    connection.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

const LINE: &str = "POST /v1beta/models/test-model:streamGenerateContent?alt=sse";

fn server(acts: usize) -> Server {
    Server::strict(&Gemini, vec![Act::Say(Gemini.words("done")); acts])
}

fn headers() -> String {
    format!("content-type: application/json\r\nx-goog-api-key: {KEY}\r\n")
}

#[test]
fn a_request_has_its_line_and_its_headers() {
    assert_eq!(send(&server(1), LINE, &headers()), "HTTP/1.1 200");
    let twice = headers() + &headers();
    let elsewhere = format!("{}authorization: Bearer {KEY}\r\n", headers());
    let with_key = format!("{LINE}&key={KEY}");
    for (line, headers, why) in [
        (&*LINE.replace("POST", "PUT"), &*headers(), "PUT /v1beta"),
        (&with_key, &headers(), "is not POST"),
        (LINE, &twice, "the header is not content-type"),
        (LINE, "", "the header is not content-type"),
        (LINE, &headers().replace(KEY, "other"), "the header is not x-goog-api-key"),
        (LINE, &elsewhere, "2 headers have the key"),
    ] {
        let server = server(1);
        assert_eq!(send(&server, line, headers), "HTTP/1.1 400");
        let wrong = std::mem::take(&mut *server.desk.wrong.lock().unwrap());
        assert!(wrong[0].contains(why), "{wrong:?}");
    }
}

#[test]
#[should_panic(expected = "asked what it refuses")]
fn a_test_in_which_a_request_was_wrong_fails() {
    let server = server(1);
    assert_eq!(send(&server, LINE, ""), "HTTP/1.1 400");
}

#[test]
#[should_panic(expected = "one request too many")]
fn a_test_with_too_many_requests_fails() {
    assert_eq!(send(&server(0), LINE, &headers()), "HTTP/1.1 400");
}

#[test]
#[should_panic(expected = "1 requests are missing")]
fn a_test_with_too_few_requests_fails() {
    assert_eq!(send(&server(2), LINE, &headers()), "HTTP/1.1 200");
}
