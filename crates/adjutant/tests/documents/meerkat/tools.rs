//! Five tools, and nothing in them but what the document says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::FIVE;
use crate::{
    shared::server::{Act, Messages, Server},
    support::World,
};

/// Returns the tools a model is told of.
fn offered(more: &[&str]) -> Vec<Value> {
    let said = json!([{ "type": "text", "text": "done" }]);
    let server = Server::strict(&Messages, vec![Act::Say(said.as_array().unwrap().clone())]);
    let world = server.set_up(World::new());
    let done = world.run(&[&["run", "--quiet", "-c", "preset=meerkat"], more, &["go"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    server.asked()[0].body["tools"].as_array().unwrap().clone()
}

fn find<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap()
}

fn names(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Tools of ours that speak to other agents and are not the document's.
const OTHERS: [&str; 8] = [
    "sub_agent",
    "spawn_agent",
    "call_agent",
    "delegate_task",
    "agent_wait",
    "agent_send",
    "send_message",
    "peers",
];

#[test]
fn there_are_exactly_five_tools_and_they_can_be_switched_off() {
    let told = offered(&[]);
    let all: Vec<_> = told.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let five: Vec<_> = all.iter().copied().filter(|name| name.starts_with("agent_")).collect();
    assert_eq!(five, FIVE);
    assert!(OTHERS.iter().all(|other| !all.contains(other)), "{all:?}");
    let without = offered(&["-c", "sub_agents.enabled=false"]);
    let is_five = |tool: &Value| FIVE.contains(&tool["name"].as_str().unwrap());
    assert!(!without.iter().any(is_five), "{without:?}");
    assert_eq!(without.len(), told.len() - 5);
}

#[test]
fn each_takes_what_the_document_says_and_no_more() {
    let told = offered(&[]);
    let spawn =
        ["prompt", "provider", "model", "tool_access", "budget", "system_prompt", "host_mode"];
    let table: [(&str, &[&str], &[&str]); 5] = [
        ("agent_spawn", &spawn, &["prompt"]),
        (
            "agent_fork",
            &["prompt", "provider", "model", "tool_access", "budget_policy"],
            &["prompt"],
        ),
        ("agent_status", &["agent_id"], &["agent_id"]),
        ("agent_cancel", &["agent_id"], &["agent_id"]),
        ("agent_list", &[], &[]),
    ];
    for (name, parameters, required) in table {
        let schema = &find(&told, name)["input_schema"];
        let properties = schema.get("properties").cloned().unwrap_or(json!({}));
        assert_eq!(names(&properties), parameters.iter().copied().collect(), "{name}");
        let wanted: Vec<String> =
            serde_json::from_value(schema.get("required").cloned().unwrap_or(json!([]))).unwrap();
        assert_eq!(wanted, required, "{name}");
    }
}

#[test]
fn the_model_is_told_the_policies_the_budget_the_provider_and_the_models() {
    let told = offered(&[]);
    let spawn = find(&told, "agent_spawn");
    let text = spawn["input_schema"].to_string();
    for policy in ["inherit", "allow_list", "deny_list", "read_only"] {
        assert!(text.contains(&format!("\"{policy}\"")), "{text}");
    }
    for limit in ["max_tokens", "max_turns", "max_tool_calls"] {
        assert!(text.contains(limit), "{text}");
    }
    assert!(!text.contains("max_seconds") && !text.contains("max_usd"), "{text}");
    assert!(spawn["description"].as_str().unwrap().contains("50000 tokens"));
    for tool in ["agent_spawn", "agent_fork"] {
        let properties = &find(&told, tool)["input_schema"]["properties"];
        let provider = properties["provider"]["description"].as_str().unwrap();
        assert!(provider.contains("Without it, it is `anthropic`."), "{provider}");
        let model = properties["model"]["description"].as_str().unwrap();
        for allowed in ["anthropic/claude-sonnet-4-5", "openai/gpt-5-mini", "gemini/gemini-3.8"] {
            assert!(model.contains(allowed), "{model}");
        }
    }
    let policy = &find(&told, "agent_fork")["input_schema"]["properties"]["budget_policy"];
    for word in ["equal", "remaining", "proportional", "fixed:N"] {
        assert!(policy["description"].as_str().unwrap().contains(word), "{policy}");
    }
    let other = offered(&["-c", "sub_agents.models=['anthropic/claude-x']"]);
    let model = &find(&other, "agent_spawn")["input_schema"]["properties"]["model"]["description"];
    let model = model.as_str().unwrap();
    assert!(model.contains("`anthropic/claude-x`") && !model.contains("openai/"), "{model}");
}

#[test]
fn what_the_document_does_not_have_is_refused() {
    let said = super::calls(
        "root",
        &[
            super::spawn(json!({ "output_schema": {} })),
            super::spawn(json!({ "cache": true })),
            super::spawn(json!({ "budget": { "max_usd": 1.0 } })),
            super::fork(json!({ "host_mode": true })),
            super::fork(json!({ "budget": { "max_tokens": 5 } })),
            super::fork(json!({ "system_prompt": "x" })),
            super::fork(json!({ "last_n": 2 })),
            ("agent_status", json!({ "agent_id": "root.agent-1", "offset": 1 })),
            ("agent_list", json!({ "all": true })),
        ],
    );
    let walk = super::walk(&[said, super::ends()], &[]);
    let results = walk.results("root");
    assert_eq!(results.len(), 9);
    assert!(results.iter().all(|it| it.failed && it.text.contains("unknown field")), "{results:?}");
    assert!(walk.events.iter().all(|event| event.path.depth() == 0), "nobody was started");
}
