use serde_json::json;

use super::*;
use crate::{sse::Decoder, wire::testing::speaker};

const WEATHER: &str = include_str!("../samples/weather.sse");
const THINKING: &str = include_str!("../samples/thinking.sse");
const SEARCH: &str = include_str!("../samples/search.sse");

fn reader() -> Reader {
    Reader::new(speaker("anthropic", "m"), 7)
}

fn stream(text: &str) -> Result<Vec<Delta>, ModelError> {
    let (mut reader, mut deltas) = (reader(), Vec::new());
    Decoder::default().push(text.as_bytes(), |data| reader.read(data, &mut deltas))?;
    reader.end(&mut deltas);
    Ok(deltas)
}

fn read(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    stream(&events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

#[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
fn start(index: usize, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

#[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
fn delta(index: usize, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn tool_use(index: usize, id: &str) -> Value {
    start(index, json!({ "type": "tool_use", "id": id, "name": "look", "input": {} }))
}

fn input(index: usize, text: &str) -> Value {
    delta(index, json!({ "type": "input_json_delta", "partial_json": text }))
}

fn text(index: usize, text: &str) -> Value {
    delta(index, json!({ "type": "text_delta", "text": text }))
}

fn stop(index: usize) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn finish(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
        json!({ "type": "message_stop" }),
    ]
}

fn parts(deltas: &[Delta]) -> Vec<&Part> {
    let parts = deltas.iter().filter_map(|delta| match delta {
        Delta::Part(part) => Some(part),
        _ => None,
    });
    parts.collect()
}

fn call(id: &str, arguments: Value) -> Part {
    let name = "look".to_owned();
    Part::Call(ToolCall { id: id.into(), name, arguments, native: None })
}

fn own(part: &Part) -> Value {
    match part {
        Part::Text { native: Some(native), .. } | Part::Reasoning { native: Some(native), .. } => {
            assert_eq!(&*native.origin, "anthropic/m");
            serde_json::from_str(&native.json).unwrap()
        }
        other => panic!("{other:?} is not in the model's own words"),
    }
}

#[test]
fn words_and_a_call_are_read_as_they_come() {
    let words = ["Okay", ", let's check the weather for San Francisco, CA:"];
    let usage = |output| Delta::Usage(Usage { input: 472, output, ..Usage::default() });
    let weather = ToolCall {
        id: "toolu_01T1x1fJ34qAmk2tNTrN7Up6".into(),
        name: "get_weather".to_owned(),
        arguments: json!({ "location": "San Francisco, CA", "unit": "fahrenheit" }),
        native: None,
    };
    let expected = [
        usage(2),
        Delta::Text(words[0].to_owned()),
        Delta::Text(words[1].to_owned()),
        Delta::Part(Part::text(words.concat())),
        Delta::Part(Part::Call(weather)),
        usage(89),
        Delta::Stop(StopReason::Calls),
    ];
    assert_eq!(stream(WEATHER).unwrap(), expected);
}

#[test]
fn thoughts_are_kept_in_the_models_own_words() {
    let deltas = stream(THINKING).unwrap();
    let thought = "I need to find the GCD of 1071 and 462 using the Euclidean algorithm.\
                   \n\n1071 = 2 × 462 + 147";
    let shown: String = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Reasoning(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, thought);
    let parts = parts(&deltas);
    let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds...";
    let expected = json!({ "type": "thinking", "thinking": thought, "signature": signature });
    assert!(matches!(parts[0], Part::Reasoning { text, .. } if text == thought));
    assert_eq!(own(parts[0]), expected);
    let data = "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP...";
    assert!(matches!(parts[1], Part::Reasoning { text, .. } if text.is_empty()));
    assert_eq!(own(parts[1]), json!({ "type": "redacted_thinking", "data": data }));
    let answer = Part::text("The greatest common divisor of 1071 and 462 is **21**.");
    assert_eq!(parts[2..], [&answer]);
    assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Done)));
}

#[test]
fn what_the_provider_did_itself_is_handed_back_and_not_run() {
    let deltas = stream(SEARCH).unwrap();
    let parts = parts(&deltas);
    assert_eq!(parts.len(), 3);
    assert!(!parts.iter().any(|part| matches!(part, Part::Call(_))));
    assert_eq!(own(parts[0])["input"], json!({ "query": "weather NYC today" }));
    assert_eq!(own(parts[0])["id"], own(parts[1])["tool_use_id"]);
    assert_eq!(own(parts[1])["content"][0]["title"], "Weather in New York City");
    assert!(matches!(parts[2], Part::Text { text, .. } if text == "It is sunny."));
    assert_eq!(own(parts[2])["text"], "It is sunny.");
    let cited = own(parts[2])["citations"].clone();
    assert_eq!(cited.as_array().map(Vec::len), Some(2));
    assert_eq!(cited[0]["cited_text"], "Sunny, 24 degrees");
}

#[test]
fn the_last_count_holds_and_cached_tokens_are_part_of_the_input() {
    let usages: Vec<_> = stream(SEARCH)
        .unwrap()
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::Usage(usage) => Some(usage),
            _ => None,
        })
        .collect();
    let begun = Usage { input: 2679, output: 3, ..Usage::default() };
    let ended = Usage {
        input: 10_682 + 2048 + 1024,
        output: 510,
        cache_read: 1024,
        cache_write: 2048,
        reasoning: 40,
    };
    assert_eq!(usages, [begun, ended]);
}

#[test]
fn blocks_that_come_side_by_side_keep_their_order() {
    let events = [
        start(0, json!({ "type": "text", "text": "" })),
        tool_use(1, "a"),
        input(1, r#"{"x":"#),
        text(0, "one "),
        input(1, "1}"),
        stop(1),
        text(0, "two"),
        stop(0),
        tool_use(2, ""),
    ];
    let deltas = read(&[&events[..], &finish("tool_use")].concat()).unwrap();
    let expected =
        [&Part::text("one two"), &call("a", json!({ "x": 1 })), &call("call_7_1", json!({}))];
    assert_eq!(parts(&deltas), expected);
}

#[test]
fn nothing_is_said_after_the_end() {
    let late = [start(0, json!({ "type": "text", "text": "" })), text(0, "late")];
    let deltas = read(&[&finish("end_turn")[..], &late, &finish("end_turn")].concat()).unwrap();
    assert!(matches!(deltas[..], [Delta::Usage(_), Delta::Stop(StopReason::Done)]), "{deltas:?}");
}

#[test]
fn a_call_that_was_cut_off_stays_text() {
    let events = [tool_use(0, "a"), input(0, r#"{"path": "/ho"#), stop(0)];
    let deltas = read(&[&events[..], &finish("max_tokens")].concat()).unwrap();
    assert_eq!(parts(&deltas), [&call("a", json!(r#"{"path": "/ho"#))]);
    assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Length)));
}

#[test]
fn a_thought_without_its_signature_is_not_handed_back() {
    let thought = json!({ "type": "thinking", "thinking": "", "signature": "" });
    let fragment = json!({ "type": "thinking_delta", "thinking": "hm" });
    let events = [start(0, thought), delta(0, fragment), stop(0)];
    let deltas = read(&[&events[..], &finish("max_tokens")].concat()).unwrap();
    let expected = Part::Reasoning { text: "hm".to_owned(), native: None };
    assert_eq!(parts(&deltas), [&expected]);
}

#[test]
fn why_the_model_stopped_is_read() {
    for (reason, expected) in [
        ("end_turn", StopReason::Done),
        ("stop_sequence", StopReason::Done),
        ("pause_turn", StopReason::Done),
        ("tool_use", StopReason::Calls),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::Filtered),
    ] {
        let deltas = read(&finish(reason)).unwrap();
        assert_eq!(deltas.last(), Some(&Delta::Stop(expected)), "{reason}");
    }
}

#[test]
fn half_an_answer_is_not_taken_for_a_whole_one() {
    let whole = "event: message_stop";
    let deltas = stream(&WEATHER[..WEATHER.find(whole).unwrap()]).unwrap();
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Stop(_))));
}

#[test]
fn an_error_in_mid_answer_keeps_its_kind() {
    for (kind, message, expected) in [
        ("overloaded_error", "Overloaded", Trouble::Busy),
        ("rate_limit_error", "try again in 3s", Trouble::Busy),
        ("overloaded_error", "Too many tokens, please wait", Trouble::Busy),
        ("api_error", "Internal server error", Trouble::Busy),
        ("authentication_error", "invalid x-api-key", Trouble::Unauthorized),
        ("permission_error", "no", Trouble::Unauthorized),
        ("not_found_error", "model: m", Trouble::NotFound),
        ("request_too_large", "", Trouble::TooLong),
        ("invalid_request_error", "prompt is too long: 9 tokens > 8", Trouble::TooLong),
        ("invalid_request_error", "messages: no", Trouble::Refused),
    ] {
        let error = json!({ "type": kind, "message": message });
        let error = read(&[json!({ "type": "error", "error": error })]).unwrap_err();
        assert_eq!(error.trouble, expected, "{kind}");
        assert_eq!(error.retry_after.is_some(), kind == "rate_limit_error");
        assert_eq!(error.message, if message.is_empty() { kind } else { message });
    }
}

#[test]
fn what_is_newer_than_this_does_no_harm() {
    let events = [
        json!({ "type": "newer", "index": {} }),
        start(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "newer_delta", "text": 3 })),
        delta(5, json!({ "type": "text_delta", "text": "to nobody" })),
        text(0, ""),
        text(0, "hi"),
        stop(0),
        start(1, json!({ "type": "text", "text": "" })),
        stop(1),
    ];
    let deltas = read(&events).unwrap();
    let expected = [Delta::Text("hi".to_owned()), Delta::Part(Part::text("hi"))];
    assert_eq!(deltas, expected);
}
