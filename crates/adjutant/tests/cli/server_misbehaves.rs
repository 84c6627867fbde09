//! A model's server that answers, refuses, breaks off, or says nothing.

use adjutant_core::EventKind;
use rustix::process::Signal;
use serde_json::json;

use crate::{
    server::{Act, Server, calls, words},
    support::World,
};

const KEY: &str = "sk-planted-key-000";

fn world(server: &Server) -> World {
    World::new()
        .variable("OPENAI_API_KEY", KEY)
        .variable("OPENAI_BASE_URL", &server.address)
        .variable("ADJUTANT_RETRY_BASE_MS", "1")
        .variable("ADJUTANT_MODEL", "openai/test-model")
        .file("a.txt", "the first line\n")
}

fn say(text: &str) -> Act {
    Act::Say(words(text))
}

#[test]
fn a_task_with_tools_and_a_child_is_carried_through() {
    let delegate = calls(&[
        ("read_file", json!({ "path": "a.txt" })),
        ("sub_agent", json!({ "prompt": "count the words" })),
    ]);
    let server = Server::start(vec![Act::Say(delegate), say("three"), say("all is well")]);
    let world = world(&server);
    let done = world.run(&["run", "--quiet", "look"]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (Some(0), "all is well\n", "")
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].headers[0], "POST /v1/chat/completions HTTP/1.1");
    assert!(asked[0].headers.contains(&format!("authorization: Bearer {KEY}")));
    assert_eq!(asked[1].body["messages"][1]["content"], "count the words");
    let last = asked[2].body["messages"].as_array().unwrap();
    assert!(last[3]["content"].as_str().unwrap().contains("the first line"), "{last:?}");
    assert!(last[4]["content"].as_str().unwrap().starts_with("three"), "{last:?}");
}

#[test]
fn the_beginning_of_each_request_is_that_of_the_one_before() {
    let look = |n: u32| Act::Say(calls(&[("read_file", json!({ "path": "a.txt", "limit": n }))]));
    let server = Server::start(vec![look(1), look(2), look(3), say("done")]);
    world(&server).run(&["run", "--quiet", "look"]);
    let asked = server.asked();
    for pair in asked.windows(2) {
        let (before, after) = (&pair[0].body, &pair[1].body);
        assert_eq!(before["tools"], after["tools"]);
        let (before, after) = (before["messages"].as_array(), after["messages"].as_array());
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!(before[..], after[..before.len()]);
    }
}

#[test]
fn what_passes_is_tried_again_and_nothing_is_said_twice() {
    let busy = || Act::Refuse("429 Too Many Requests", "retry-after-ms: 5\r\n", "{}".to_owned());
    let gateway = Act::Refuse("502 Bad Gateway", "", "<html>oh</html>".to_owned());
    let server = Server::start(vec![
        busy(),
        gateway,
        Act::HangUp(words("half")[..1].to_vec()),
        say("whole"),
    ]);
    let world = world(&server);
    let done = world.run(&["run", "--quiet", "look"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "whole\n"));
    let events = world.journal();
    let retries = events.iter().filter(|it| matches!(it.kind, EventKind::Retrying { .. }));
    assert_eq!(retries.count(), 3);
}

#[test]
fn a_refusal_is_told_and_the_key_is_not() {
    let body = json!({ "error": { "message": format!("wrong key {KEY}") } }).to_string();
    let server = Server::start(vec![Act::Refuse("401 Unauthorized", "", body)]);
    let world = world(&server);
    let done = world.run(&["run", "--events", "look"]);
    assert_eq!(done.code, Some(3));
    assert!(done.stdout.contains("wrong key [key]"), "{}", done.stdout);
    let kept = format!("{:?}", world.journal());
    for text in [&done.stdout, &done.stderr, &kept] {
        assert!(!text.contains(KEY), "{text}");
    }
}

#[test]
fn nonsense_is_one_clear_error() {
    for body in ["data: <html>\n\n", "data: {\"choices\": 7}\n\n", "", "hello\n\n"] {
        let nonsense = Act::Refuse("200 OK", "", body.to_owned());
        let server = Server::start(vec![nonsense; 5]);
        let done = world(&server).run(&["run", "--quiet", "look"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{body}");
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
}

#[test]
fn the_connection_is_closed_before_a_cancelled_agent_is_said_to_be_gone() {
    let server = Server::start(vec![Act::Wait(words("so far")[..1].to_vec())]);
    let world = world(&server);
    let mut run = world.start(&["run", "--events", "look"]);
    run.read_until("so far");
    run.signal(Signal::INT);
    server.was_left();
    let done = run.finish();
    assert_eq!(done.code, Some(130));
    assert!(done.stdout.contains(r#""ending":"cancelled","text":"so far""#), "{}", done.stdout);
}

#[test]
fn without_a_key_the_ways_to_go_on_are_told() {
    let world = World::new();
    let said = world.refused(&["run", "--model", "openai/gpt", "look"]);
    for word in ["OPENAI_API_KEY", "ollama/MODEL", "rehearsal"] {
        assert!(said.contains(word), "{said}");
    }
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
