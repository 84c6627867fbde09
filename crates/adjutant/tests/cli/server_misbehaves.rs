//! A model's server that answers oddly, refuses, breaks off, or says nothing.

use adjutant_core::EventKind;
use rustix::process::Signal;
use serde_json::json;

use crate::{
    server::{Act, Chat, Cut, Format, Server, in_each_format},
    support::World,
};

in_each_format! {
    what_passes_is_tried_again_and_nothing_is_said_twice
    an_answer_is_the_same_however_it_is_cut
    what_does_not_pass_is_told_at_once
    what_is_not_streamed_is_told_at_once
    what_keeps_failing_is_one_clear_error
    the_connection_is_closed_before_a_cancelled_agent_is_said_to_be_gone
}

const PAGE: &str = "<html><head><title>Oh</title></head><body>no <b>good</b></body></html>";

fn world(server: &Server) -> World {
    server.set_up(World::new()).variable("ADJUTANT_RETRY_CAP_MS", "1").file("a.txt", "one\n")
}

/// Returns what passes, and what is said of it.
fn passing(format: &dyn Format) -> Vec<(Act, &'static str)> {
    let half = format.begin(&format.words("hälf"));
    let busy = |status, headers| {
        Act::Refuse(status, headers, format.failure("too much to do").to_string())
    };
    let failure = format!("{half}data: {}\n\n", format.failure("had to stop"));
    let page = |status| Act::Refuse(status, "content-type: text/html\r\n", PAGE.to_owned());
    vec![
        (busy("429 Too Many Requests", "retry-after-ms: 40\r\n"), "429 Too Many Requests: too"),
        (busy("500 Internal Server Error", ""), "500 Internal Server Error: too much to do"),
        (busy("529 Overloaded", ""), "too much to do"),
        (page("502 Bad Gateway"), "502 Bad Gateway: Oh no good"),
        (page("200 OK"), "200 OK: Oh no good"),
        (Act::Refuse("200 OK", "", String::new()), "the server sent nothing"),
        (Act::Send(half.clone().into()), "cut off"),
        (Act::HangUp(format.words("hälf")), "broke off"),
        (Act::Send(failure.into()), "had to stop"),
        (Act::Send(half.replace('{', "<").into()), "what is not an answer"),
        (Act::Send(half.bytes().filter(|byte| *byte != 0xA4).collect()), "what is not an answer"),
        (Act::Send(b"\x00\xFF\n\r\n\n\r".repeat(9)), "cut off"),
    ]
}

fn what_passes_is_tried_again_and_nothing_is_said_twice(format: &'static dyn Format) {
    let (mut acts, expected): (Vec<_>, Vec<_>) = passing(format).into_iter().unzip();
    acts.push(Act::Say(format.words("whole")));
    let server = Server::strict(format, acts);
    let world = world(&server).variable("ADJUTANT_RETRY_ATTEMPTS", "20");
    let done = world.run(&["run", "--quiet", "look"]);
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "whole\n", ""));
    let events = world.journal();
    let retries: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Retrying { wait_ms, reason, .. } => Some((*wait_ms, reason)),
            _ => None,
        })
        .collect();
    assert_eq!(retries.len(), expected.len(), "{retries:#?}");
    for ((_, reason), expected) in retries.iter().zip(expected) {
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    assert!(retries[0].0 >= 40 && retries[1].0 < 40, "{retries:?}");
    let said = events.iter().filter(|event| matches!(event.kind, EventKind::Said { .. }));
    assert_eq!(said.count(), 2, "{events:#?}");
}

fn an_answer_is_the_same_however_it_is_cut(format: &'static dyn Format) {
    let bytes: Cut = |text| text.bytes().map(|byte| vec![byte]).collect();
    let crlf: Cut = |text| {
        let lines = text.replace("data: {", "data: {\ndata:").replace('\n', "\r\n");
        lines.bytes().map(|byte| vec![byte]).collect()
    };
    let marked: Cut = |text| vec![format!("\u{FEFF}{}", text.replace('\n', "\r")).into()];
    let noisy: Cut = |text| {
        text.split_inclusive('\n').map(|line| format!(": hi\nid: 1\n{line}").into()).collect()
    };
    let said = |limit: usize| {
        let look = format.calls(&[("read_file", json!({ "path": "a — é.txt", "limit": limit }))]);
        [format.thoughts("— 漢字"), format.words("Schön 🦀."), look].concat()
    };
    let cuts = [bytes, crlf, marked, noisy].into_iter().enumerate();
    let mut acts: Vec<_> = cuts.map(|(place, cut)| Act::Cut(said(place + 1), cut)).collect();
    let last = format.words("Fünf — 五");
    let last = format.begin(&last) + &format.end(&last);
    acts.push(Act::Refuse("200 OK", "content-type: text/plain\r\n", last));
    let server = Server::strict(format, acts);
    let world = world(&server).variable("ADJUTANT_RETRY_ATTEMPTS", "1");
    let done = world.run(&["run", "--quiet", "look"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "Fünf — 五\n"), "{}", done.stderr);
}

fn what_does_not_pass_is_told_at_once(format: &'static dyn Format) {
    for (status, why) in [
        ("400 Bad Request", "what is that?"),
        ("400 Bad Request", format.too_long()),
        ("401 Unauthorized", "who are you?"),
        ("404 Not Found", "no such model"),
        ("302 Found", "over there"),
    ] {
        let body = json!({ "type": "error", "error": { "message": why } }).to_string();
        let headers = "location: http://127.0.0.1:9/\r\n";
        let server = Server::strict(format, vec![Act::Refuse(status, headers, body)]);
        let done = world(&server).run(&["run", "--quiet", "look"]);
        let told = format!("failed: the model failed: the server answered {status}: {why}\n");
        assert_eq!((done.code, done.stdout, done.stderr), (Some(3), String::new(), told));
    }
}

fn what_is_not_streamed_is_told_at_once(format: &'static dyn Format) {
    let whole = json!({ "choices": [{ "message": { "content": "hi" } }], "error": null });
    for (body, why) in [
        (json!({ "error": { "message": "no such thing" } }), "no such thing"),
        (whole, "the server did not stream its answer"),
    ] {
        let headers = "content-type: application/json\r\n";
        let act = Act::Refuse("200 OK", headers, body.to_string());
        let done = world(&Server::strict(format, vec![act])).run(&["run", "--quiet", "look"]);
        let told = format!("failed: the model failed: {why}\n");
        assert_eq!((done.code, done.stdout, done.stderr), (Some(3), String::new(), told));
    }
}

fn what_keeps_failing_is_one_clear_error(format: &'static dyn Format) {
    // As many as are tried; the last of them stops in mid-answer.
    let acts = passing(format).into_iter().skip(4).take(5).map(|(act, _)| act);
    let server = Server::strict(format, acts.collect());
    let done = world(&server).run(&["run", "--quiet", "look"]);
    let told = "failed: the model failed: had to stop\n";
    assert_eq!((done.code, done.stderr.as_str()), (Some(3), told));
    assert_eq!(done.stdout, "hälf\n");
}

fn the_connection_is_closed_before_a_cancelled_agent_is_said_to_be_gone(
    format: &'static dyn Format,
) {
    for (act, shown) in [(Act::Silence, ""), (Act::Wait(format.words("so far")), "so far")] {
        let server = Server::strict(format, vec![act]);
        let world = world(&server);
        let mut run = world.start(&["run", "--events", "look"]);
        let held = server.held();
        if !shown.is_empty() {
            run.read_until("far");
        }
        run.signal(Signal::INT);
        run.read_until(&format!(r#""ending":"cancelled","text":"{shown}""#));
        assert!(held.is_left());
        assert_eq!(run.finish().code, Some(130));
    }
}

#[test]
fn an_endless_event_is_not_kept() {
    let mut endless = b"data: ".to_vec();
    endless.resize(17 * 1024 * 1024, b'x');
    let server = Server::strict(&Chat, vec![Act::Send(endless)]);
    let world = world(&server).variable("ADJUTANT_RETRY_ATTEMPTS", "1");
    let done = world.run(&["run", "--quiet", "look"]);
    let told = "failed: the model failed: the server sent an event without an end\n";
    assert_eq!((done.code, done.stderr.as_str()), (Some(3), told));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let world = World::new()
        .variable("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
        .variable("ADJUTANT_RETRY_ATTEMPTS", "1");
    let done = world.run(&["run", "--quiet", "--model", "ollama/llama", "look"]);
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("cannot reach http://127.0.0.1:9/v1"), "{}", done.stderr);
}

#[test]
fn what_was_never_sent_is_not_paid_for() {
    let world = World::new()
        .variable("OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")
        .variable("ADJUTANT_RETRY_BASE_MS", "1");
    let budget = ["-c", "budget.tokens=12000"];
    let run = ["run", "--json", "--quiet", "--model", "ollama/llama", "look"];
    let done = world.run(&[&run[..], &budget].concat());
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    let result: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result["tokens"]["input"], 0, "{result}");
}
