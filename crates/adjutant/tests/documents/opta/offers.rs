//! Which tools there are, for whom, and what holds by default.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use super::{run, spawned};
use crate::support::World;

/// Returns the tools that the root is offered, as they are sent.
fn sent_tools() -> Vec<Value> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()
    });
    let world = World::new()
        .variable("OPENAI_API_KEY", "sk-0")
        .variable("OPENAI_BASE_URL", &address)
        .variable("ADJUTANT_MODEL", "openai/test-model");
    world.run(&["run", "--quiet", "-c", "preset=opta", "go"]);
    let body = asked.join().unwrap();
    let tools = body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"].clone()).collect()
}

/// Takes the descriptions out of a schema.
fn bare(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            fields.remove("description");
            fields.values_mut().for_each(|value| *value = bare(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = bare(item.take())),
        _ => {}
    }
    schema
}

const OTHERS: [&str; 13] = [
    "sub_agent",
    "call_agent",
    "agent_spawn",
    "agent_fork",
    "agent_wait",
    "agent_send",
    "agent_status",
    "agent_cancel",
    "agent_list",
    "send_message",
    "peers",
    "notes_read",
    "notes_write",
];

#[test]
fn there_are_two_tools_with_the_parameters_of_the_document() {
    let tools = sent_tools();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert!(
        !tools.iter().any(|tool| OTHERS.contains(&tool["name"].as_str().unwrap())),
        "{tools:?}"
    );
    let spawn = &tool("spawn_agent")["parameters"];
    let expected = json!({
        "type": "object",
        "properties": {
            "task": { "type": "string" },
            "scope": { "type": "string" },
            "max_tool_calls": { "type": "integer", "minimum": 1 },
            "mode": { "type": "string", "enum": ["plan", "auto"] },
        },
        "required": ["task"],
        "additionalProperties": false,
    });
    assert_eq!(bare(spawn.clone()), expected);
    let calls = &spawn["properties"]["max_tool_calls"]["description"];
    assert_eq!(calls, "Max tool calls the sub-agent can make (default: 15)");
    let index = json!({ "type": "integer", "minimum": 0 });
    let subtask = json!({
        "type": "object",
        "properties": {
            "task": { "type": "string" },
            "scope": { "type": "string" },
            "depends_on": { "anyOf": [index, { "type": "array", "items": index }] },
        },
        "required": ["task"],
        "additionalProperties": false,
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "plan": { "type": "string" },
            "subtasks": { "type": "array", "items": subtask },
        },
        "required": ["plan", "subtasks"],
        "additionalProperties": false,
    });
    assert_eq!(bare(tool("delegate_task")["parameters"].clone()), expected);
    let description = tool("delegate_task")["description"].as_str().unwrap();
    assert!(description.contains("5 at most, and run them sequentially"), "{description}");
}

#[test]
fn the_defaults_are_those_of_the_document() {
    let config = World::new().config(&["-c", "preset=opta"]);
    for (key, value) in [
        ("sub_agents.enabled", json!(true)),
        ("limits.max_depth", json!(2)),
        ("sub_agents.plan_concurrency", json!(1)),
        ("sub_agents.plan_size", json!(5)),
        ("sub_agents.stop_on_error", json!(true)),
        ("sub_agents.blocking_calls", json!(15)),
        ("sub_agents.blocking_tokens", json!(8192)),
        ("limits.blocking_timeout", json!(60)),
        ("sub_agents.inherit_mode", json!(true)),
        ("sub_agents.questions", json!("deny")),
        ("breaker.warn_at", json!(20)),
        ("breaker.pause_at", json!(30)),
        ("breaker.hard_stop_at", json!(100)),
    ] {
        assert_eq!(config[key]["value"], value, "{key}: {}", config[key]);
    }
}

#[test]
fn who_only_looks_and_who_may_not_delegate_has_neither_tool() {
    let replies = spawned(&json!({}), &[]);
    for flags in [["-c", "mode=plan"], ["-c", "sub_agents.enabled=false"]] {
        let ran = run(&replies, &flags);
        let tools = ran.started("root").2;
        assert!(tools.contains(&"read_file".to_owned()));
        let is_ours = |name: &String| name == "spawn_agent" || name == "delegate_task";
        assert!(!tools.iter().any(is_ours), "{flags:?}: {tools:?}");
        assert!(ran.complaint().contains("there is no tool named `spawn_agent`"));
        assert!(!ran.has_started("root.task-1"));
    }
    let ran = run(&spawned(&json!({ "mode": "plan" }), &[]), &[]);
    assert!(!ran.started("root.task-1").2.contains(&"delegate_task".to_owned()));
}
