use adjutant_core::{Effort, Native, Origin, ToolSpec, WireLog};
use bytes::Bytes;

use super::*;
use crate::wire::testing::{self, assert_only_grows, request, speaker, tool};

const ME: &str = "anthropic/m";

/// A conversation and what is kept of it from turn to turn.
#[derive(Clone)]
struct Talk {
    speaker: Speaker,
    system: &'static str,
    tools: Vec<Arc<ToolSpec>>,
    choice: ToolChoice,
    schema: Option<Value>,
    max_output: u64,
    messages: Vec<Arc<Message>>,
    wire: WireLog,
}

impl Talk {
    fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            speaker: speaker("anthropic", "m"),
            system: "be brief",
            tools: ["look", "get_weather"]
                .map(|name| tool(name, json!({ "type": "object" })))
                .into(),
            choice: ToolChoice::Free,
            schema: None,
            max_output: 99,
            messages: messages.into_iter().map(Arc::new).collect(),
            wire: WireLog::default(),
        }
    }

    fn say(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.messages.extend(messages.into_iter().map(Arc::new));
    }

    fn bytes(&mut self) -> String {
        let Self { speaker, system, tools, choice, schema, max_output, messages, wire } = self;
        let request = Request {
            system,
            choice: *choice,
            schema: schema.as_ref(),
            max_output: *max_output,
            ..request(messages, tools)
        };
        wire.extend(&ME.into(), messages, |before, message, bytes| {
            Messages.message(speaker, before, message, bytes);
        });
        let log = wire.marked(&Bytes::from_static(Messages.mark())).concat();
        let body = [Messages.head(speaker, &request), log, Messages.tail(speaker, &request)];
        String::from_utf8(body.concat()).unwrap()
    }

    fn body(&mut self) -> Value {
        serde_json::from_str(&self.bytes()).unwrap()
    }

    /// Returns the messages as they are sent, without marks.
    fn sent(&mut self) -> Value {
        let body: Value = serde_json::from_str(&without_marks(&self.bytes())).unwrap();
        body["messages"].clone()
    }
}

fn without_marks(body: &str) -> String {
    body.replace(std::str::from_utf8(MARK).unwrap(), "")
}

fn user(text: &str) -> Message {
    Message::user(Origin::Person, text)
}

fn assistant(parts: impl IntoIterator<Item = Part>) -> Message {
    Message::Assistant { parts: parts.into_iter().collect() }
}

fn tools(results: impl IntoIterator<Item = ToolResult>) -> Message {
    Message::Tools { results: results.into_iter().collect() }
}

fn thought(json: &str) -> Part {
    let native = Some(Native { origin: ME.into(), json: json.into() });
    Part::Reasoning { text: "hm".to_owned(), native }
}

fn call_of(id: &str, arguments: Value) -> Part {
    let (id, name) = (id.into(), "look".to_owned());
    Part::Call(ToolCall { id, name, arguments, native: None })
}

fn result_of(call: &str, text: &str) -> ToolResult {
    ToolResult { failed: false, ..ToolResult::failure(call.into(), text) }
}

fn picture() -> Image {
    Image { media_type: "image/png".to_owned(), data: "AAAA".into() }
}

fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
fn message(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}

#[test]
fn a_request_is_what_the_documentation_asks_for() {
    let seen = ToolResult { images: vec![picture()], ..result_of("c1", "a picture") };
    let mut talk = Talk::new([
        Message::User {
            origin: Origin::Person,
            parts: vec![Part::text("what is"), Part::Image(picture())],
        },
        assistant([
            Part::text("let me look"),
            call_of("c1", json!({ "path": "a" })),
            call_of("c2", json!("not json")),
        ]),
        tools([seen, ToolResult::failure("c2".into(), "no")]),
        user("go \"on\"\n"),
    ]);
    talk.choice = ToolChoice::None;
    let mark = json!({ "type": "ephemeral" });
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    let picture = json!({ "type": "image", "source": source });
    let tool = |name: &str| {
        let description = format!("Does {name}.");
        json!({ "name": name, "description": description, "input_schema": { "type": "object" } })
    };
    let call = |id: &str, input: Value| {
        let kind = "tool_use";
        json!({ "type": kind, "id": id, "name": "look", "input": input })
    };
    let expected = json!({
        "model": "m",
        "stream": true,
        "max_tokens": 99,
        "tools": [tool("look"), tool("get_weather")],
        "tool_choice": { "type": "none" },
        "system": [{ "type": "text", "text": "be brief", "cache_control": mark }],
        "messages": [
            message("user", json!([words("what is"), picture])),
            message("assistant", json!([
                words("let me look"),
                call("c1", json!({ "path": "a" })),
                call("c2", json!({ "unparsed": "not json" })),
            ])),
            message("user", json!([
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [words("a picture"), picture],
                },
                { "type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true },
                { "type": "text", "text": "go \"on\"\n", "cache_control": mark },
            ])),
        ],
    });
    assert_eq!(talk.body(), expected);
    assert_eq!(Messages.path(&talk.speaker), "/messages");
    assert_eq!(Messages.key_header(), ("x-api-key", ""));
    assert_eq!(Messages.headers(), [("anthropic-version", "2023-06-01")]);
}

/// What a request says up to where its last block is closed.
fn beginning(body: &str) -> String {
    let body = without_marks(body);
    body[..body.rfind(r#"}]}],"max_tokens":"#).unwrap()].to_owned()
}

#[test]
fn what_was_sent_is_sent_again_letter_by_letter() {
    let mut talk = Talk::new([user("one"), user("two")]);
    let mut sent = vec![talk.bytes()];
    for turn in 0..3 {
        let id = format!("c{turn}");
        talk.say([
            assistant([
                thought(r#"{"type":"thinking","signature":"s","thinking":"hm"}"#),
                call_of(&id, json!({ "b": 1, "a": 2 })),
            ]),
            tools((0..30).map(|number| result_of(&id, &format!("{number}")))),
        ]);
        sent.push(talk.bytes());
    }
    let mut fork = talk.clone();
    talk.say([assistant([Part::text("done")]), user("thanks")]);
    fork.say([user("you are a fork")]);
    for last in [talk.bytes(), fork.bytes()] {
        for earlier in &sent {
            assert!(without_marks(&last).starts_with(&beginning(earlier)), "{last}");
        }
    }
}

/// Where the marks of a request's messages are.
fn marked(body: &Value) -> Vec<(usize, usize)> {
    let mut marked = Vec::new();
    for (message, content) in body["messages"].as_array().unwrap().iter().enumerate() {
        for (place, block) in content["content"].as_array().unwrap().iter().enumerate() {
            if block.get("cache_control").is_some() {
                assert!(["text", "tool_result"].contains(&block["type"].as_str().unwrap()));
                marked.push((message, place));
            }
        }
    }
    marked
}

#[test]
fn the_end_of_the_request_before_is_marked_and_so_is_the_end_of_this() {
    let mut talk = Talk::new([user("one")]);
    assert_eq!(marked(&talk.body()), [(0, 0)]);
    talk.say([
        assistant([call_of("c", json!({}))]),
        tools([result_of("c", "a"), result_of("d", "b")]),
    ]);
    assert_eq!(marked(&talk.body()), [(0, 0), (2, 1)]);
    assert_eq!(marked(&talk.body()), [(0, 0), (2, 1)], "another try");
    let mut fork = talk.clone();
    fork.say([user("you are a fork")]);
    assert_eq!(marked(&fork.body()), [(2, 1), (2, 2)]);
    talk.say([assistant([Part::text("done")]), user("thanks")]);
    assert_eq!(marked(&talk.body()), [(2, 1), (4, 0)]);
    assert_eq!(talk.bytes().matches("cache_control").count(), 3);
}

#[test]
fn without_a_system_prompt_the_last_tool_is_marked() {
    let mut talk = Talk::new([user("hi")]);
    talk.system = " \n";
    let body = talk.body();
    assert_eq!(body.get("system"), None);
    assert_eq!(body.get("tool_choice"), None);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"], json!({ "type": "ephemeral" }));
    (talk.tools, talk.choice) = (Vec::new(), ToolChoice::None);
    let body = talk.body();
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    assert_eq!(talk.bytes().matches("cache_control").count(), 1);
}

#[test]
fn roles_take_turns_and_the_user_has_the_first_and_the_last_word() {
    let silent = || user(" \n");
    let thinks = || assistant([thought(r#"{"type":"redacted_thinking","data":"x"}"#)]);
    let says = |text| assistant([Part::text(""), Part::text(text)]);
    for (messages, expected) in [
        (vec![], json!([["user", "Go on."]])),
        (vec![silent()], json!([["user", "Go on."]])),
        (vec![silent(), user("a")], json!([["user", "Go on.", "a"]])),
        (vec![says("a")], json!([["user", "Go on."], ["assistant", "a"], ["user", "Go on."]])),
        (vec![thinks(), user("a")], json!([["user", "Go on.", "a"]])),
        (vec![user("a"), tools([]), user("b")], json!([["user", "a", "b"]])),
        (vec![user("a"), thinks(), silent(), user("b")], json!([["user", "a", "b"]])),
        (
            vec![user("a"), says("b"), silent(), says("c"), user("d")],
            json!([["user", "a"], ["assistant", "b", "c"], ["user", "d"]]),
        ),
    ] {
        let sent = Talk::new(messages.clone()).sent();
        let said = sent.as_array().unwrap().iter().map(|message| {
            let texts = message["content"].as_array().unwrap().iter().map(|block| &block["text"]);
            [&message["role"]].into_iter().chain(texts).cloned().collect::<Value>()
        });
        assert_eq!(said.collect::<Value>(), expected, "{messages:?}");
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        assert_only_grows(&Messages, &speaker("anthropic", "m"), &messages);
    }
}

#[test]
fn own_words_are_handed_back_as_they_came_and_in_order() {
    let (first, second) = (
        r#"{"type":"thinking","thinking":"\u0068m","signature":"s=="}"#,
        r#"{"type":"redacted_thinking","data":"x"}"#,
    );
    let cited = r#"{"type":"text","text":"so","citations":[{"cited_text":"so it is"}]}"#;
    let native = Some(Native { origin: ME.into(), json: cited.into() });
    let said = [
        thought(first),
        thought(second),
        Part::Text { text: "so".to_owned(), native },
        thought(second),
        call_of("c", json!({ "a": 1 })),
        thought(first),
    ];
    let mut talk = Talk::new([user("a"), assistant(said), tools([result_of("c", "b")])]);
    let call = r#"{"id":"c","input":{"a":1},"name":"look","type":"tool_use"}"#;
    let expected = [first, second, cited, second, call].join(",");
    let body = talk.bytes();
    let content = format!(r#"{{"role":"assistant","content":[{expected}]}}"#);
    assert!(body.contains(&content), "{body}");
}

#[test]
fn what_a_model_said_is_what_it_hears_again() {
    let heard = |sample: &str| {
        let mut talk = Talk::new([user("a")]);
        let events: Vec<_> =
            sample.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let deltas = testing::read(&Messages, &talk.speaker, &events).unwrap();
        talk.messages.push(testing::message(&deltas));
        talk.sent()[1]["content"].clone()
    };
    let thinking = heard(include_str!("samples/thinking.sse"));
    let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds...";
    assert_eq!(thinking[0]["signature"], signature);
    assert_eq!(thinking[1]["type"], "redacted_thinking");
    assert_eq!(thinking[2], words("The greatest common divisor of 1071 and 462 is **21**."));
    let search = heard(include_str!("samples/search.sse"));
    assert_eq!(search[0]["input"], json!({ "query": "weather NYC today" }));
    assert_eq!(search[1]["tool_use_id"], search[0]["id"]);
    assert_eq!(search[2]["citations"].as_array().unwrap().len(), 2);
    let weather = heard(include_str!("samples/weather.sse"));
    let input = json!({ "location": "San Francisco, CA", "unit": "fahrenheit" });
    assert_eq!(weather[1]["input"], input);
}

#[test]
fn what_another_model_said_is_told_in_plain_words() {
    let other = |json: &str| Some(Native { origin: "openai/x".into(), json: json.into() });
    let (id, long) = ("functions.look:0", "x".repeat(80));
    let said = assistant([
        Part::Reasoning { text: "hm".to_owned(), native: other(r#"{"type":"reasoning"}"#) },
        Part::Text { text: "look".to_owned(), native: other(r#"{"type":"message"}"#) },
        Part::Image(picture()),
        call_of(id, json!({})),
        call_of(&long, json!([1])),
        Part::Reasoning { text: "hm".to_owned(), native: None },
    ]);
    let heard = tools([result_of(id, "a"), result_of(&long, " ")]);
    let sent = Talk::new([user("a"), said, heard]).sent();
    let [said, heard] = [&sent[1]["content"], &sent[2]["content"]];
    assert_eq!(said.as_array().unwrap().len(), 3);
    assert_eq!(said[0], words("look"));
    assert_eq!(said[2]["input"], json!({ "unparsed": [1] }));
    for (call, result) in [(1, 0), (2, 1)] {
        let id = said[call]["id"].as_str().unwrap();
        assert_eq!(heard[result]["tool_use_id"], id);
        assert!(id.len() <= 64 && !id.contains([':', '.']), "{id}");
    }
    assert_ne!(said[1]["id"], said[2]["id"]);
    assert_eq!(heard[1]["content"], "(no output)");
}

#[test]
fn a_picture_alone_is_a_result() {
    let seen = ToolResult { images: vec![picture()], ..result_of("c", "") };
    let calls = assistant([call_of("c", json!({}))]);
    let sent = Talk::new([user("a"), calls, tools([seen])]).sent();
    let content = &sent[2]["content"][0]["content"];
    assert_eq!(content.as_array().unwrap().len(), 1);
    assert_eq!(content[0]["type"], "image");
}

#[test]
fn how_much_to_think_is_said_the_way_the_model_understands() {
    let mut talk = Talk::new([user("hi")]);
    let body = talk.body();
    assert_eq!((body.get("thinking"), body.get("output_config")), (None, None));
    talk.speaker.effort = Some(Effort::Medium);
    let body = talk.body();
    assert_eq!(body["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(body["output_config"], json!({ "effort": "medium" }));
    talk.speaker.quirks.thinking = Thinking::Budget;
    for (effort, max_output, budget) in [
        (Effort::Low, 64_000, Some(4096)),
        (Effort::Medium, 64_000, Some(12_288)),
        (Effort::High, 64_000, Some(24_576)),
        (Effort::High, 8192, Some(7168)),
        (Effort::Low, 2048, Some(1024)),
        (Effort::Low, 2047, None),
        (Effort::Low, 100, None),
    ] {
        (talk.speaker.effort, talk.max_output) = (Some(effort), max_output);
        let body = talk.body();
        let expected = budget.map(|budget| json!({ "type": "enabled", "budget_tokens": budget }));
        assert_eq!(body.get("thinking"), expected.as_ref(), "{effort:?} of {max_output}");
        assert_eq!(body.get("output_config"), None);
    }
    talk.speaker.quirks.thinking = Thinking::None;
    (talk.speaker.effort, talk.max_output) = (Some(Effort::High), 64_000);
    let body = talk.body();
    assert_eq!((body.get("thinking"), body.get("output_config")), (None, None));
}

#[test]
fn a_schema_is_sent_beside_the_effort_to_who_can_keep_it() {
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let mut talk = Talk::new([user("hi")]);
    talk.schema = Some(schema.clone());
    let format = json!({ "type": "json_schema", "schema": schema });
    assert_eq!(talk.body()["output_config"], json!({ "format": format }));
    talk.speaker.effort = Some(Effort::Low);
    assert_eq!(talk.body()["output_config"], json!({ "format": format, "effort": "low" }));
    talk.speaker.effort = None;
    talk.schema = Some(json!({ "type": "object" }));
    assert_eq!(talk.body().get("output_config"), None);
    (talk.schema, talk.speaker.quirks.schema) = (Some(schema), Schema::Told);
    assert_eq!(talk.body().get("output_config"), None);
}
