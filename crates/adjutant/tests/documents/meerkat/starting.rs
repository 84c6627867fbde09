//! `agent_spawn` starts with a clean context, `agent_fork` with the whole conversation.

use adjutant_core::{EventKind, Message};
use serde_json::{Value, json};

use super::{WAITING, Walk, calls, ends, fork, is_end, says, script, spawn, waits, walk, walk_in};
use crate::{
    shared::server::{Act, Messages, Server, calls as chat_calls, words},
    support::World,
};

/// The document's words for a child that was started.
const SPAWNED: &str = "Sub-agent spawned successfully. Use agent_status to check progress.";

/// Returns the last twelve digits of an id: the first are the same for all of a moment.
fn digits(id: &Value) -> String {
    id.as_str().unwrap().rsplit('-').next().unwrap().to_owned()
}

/// Has the root call something that starts a child at Anthropic, and returns what that was asked.
fn asked(call: (&str, Value), more: &[&str]) -> (Walk, Value) {
    let done = vec![json!({ "type": "text", "text": "found it" })];
    let server = Server::strict(&Messages, vec![Act::Say(done)]);
    let world = script(server.set_up(World::new()), &[calls("root", &[call]), ends()]);
    let provider = ["-c", "sub_agents.default_provider=anthropic"];
    let walk = walk_in(&world, &[&provider, more].concat());
    let body = server.asked().remove(0).body;
    (walk, body)
}

#[test]
fn a_spawned_agent_knows_its_prompt_alone_and_runs_at_anthropic() {
    let (walk, body) = asked(spawn(json!({ "prompt": "count the apples" })), &[]);
    assert_eq!(body["model"], "claude-sonnet-5-5", "the first of the provider's list");
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["content"][0]["text"], "count the apples");
    let answer = walk.answer(0);
    let id = &answer["agent_id"];
    assert_eq!(answer["name"], format!("sub-agent-{}", digits(id)));
    assert_eq!(answer["path"], "root.agent-1");
    assert_eq!((&answer["provider"], &answer["model"]), (&json!("anthropic"), &body["model"]));
    assert_eq!(answer["state"], "running");
    assert!(answer["message"].as_str().unwrap().starts_with(SPAWNED), "{answer}");
    assert_eq!(answer.as_object().unwrap().len(), 7, "{answer}");
    let event = walk.events.iter().find(|it| it.path.as_str() == "root.agent-1").unwrap();
    assert_eq!(*id, event.id.to_string());
    assert_eq!(walk.started("root.agent-1")["chosen"], "configured");
    assert_eq!(walk.news("root").len(), 1, "the agent notifies when it is done");
    assert!(walk.news("root")[0].contains("found it"));
}

#[test]
fn the_system_prompt_is_inherited_replaced_or_none() {
    let told = |body: &Value| body["system"][0]["text"].as_str().unwrap_or_default().to_owned();
    let own = ["-c", "instructions=be careful"];
    let (_, body) = asked(spawn(json!({})), &own);
    assert!(told(&body).contains("be careful"), "{body}");
    let (_, body) = asked(spawn(json!({ "system_prompt": "be quick" })), &own);
    assert!(told(&body).contains("be quick") && !told(&body).contains("be careful"), "{body}");
    let none = [&own[..], &["-c", "sub_agents.inherit_system_prompt=false"]].concat();
    let (_, body) = asked(spawn(json!({})), &none);
    assert_eq!(told(&body), "", "{body}");
    let (_, body) = asked(spawn(json!({ "system_prompt": "be quick" })), &none);
    assert!(told(&body).contains("be quick"), "{body}");
}

#[test]
fn a_fork_inherits_the_whole_conversation_and_counts_it() {
    let call = ("agent_fork", json!({ "prompt": "go the other way" }));
    let acts = [Act::Say(chat_calls(&[call]))].into_iter();
    let server = Server::start(acts.chain((0..3).map(|_| Act::Say(words("done")))).collect());
    let world = World::new()
        .variable("OLLAMA_BASE_URL", &server.address)
        .variable("ADJUTANT_MODEL", "ollama/root");
    // Nothing else is inherited by those that are spawned, so what is here comes from the session.
    let more = ["-c", "sub_agents.default_provider=ollama"];
    let bare = ["-c", "sub_agents.inherit_system_prompt=false"];
    let walk = walk_in(&world, &[more, bare].concat());
    let asked = server.asked();
    let last = |body: &Value| body["messages"].as_array().unwrap().last().unwrap().clone();
    let root = &asked[0].body;
    let fork = asked.iter().find(|it| last(&it.body)["content"] == "go the other way").unwrap();
    let fork = &fork.body;
    let messages = fork["messages"].as_array().unwrap();
    assert_eq!(messages[..2], root["messages"].as_array().unwrap()[..], "system prompt and task");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["name"], "agent_fork");
    assert_eq!(messages[3]["role"], "tool", "the open call is closed");
    assert_eq!(messages.len(), 5);
    assert_eq!(fork["tools"], root["tools"], "the same list, for the provider's cache");
    let answer = walk.answer(0);
    assert_eq!(answer["messages_inherited"], 3);
    assert_eq!(answer["name"], format!("fork-{}", digits(&answer["agent_id"])));
    assert_eq!(answer["state"], "running");
    assert!(answer["message"].as_str().unwrap().starts_with(SPAWNED), "{answer}");
}

#[test]
fn a_longer_conversation_is_inherited_as_a_whole_and_is_not_changed_by_it() {
    let look = || calls("root", &[("list_dir", json!({}))]);
    let replies = [look(), calls("root", &[fork(json!({}))]), says("root.fork-1", "mine"), ends()];
    let walk = walk(&replies, &[]);
    assert_eq!(walk.answer(1)["messages_inherited"], 5);
    assert_eq!(walk.started("root.fork-1")["inherited"], 5);
    assert_eq!(walk.outcome("root.fork-1").text, "mine");
    let mine = |message: &Message| message.text() == "mine";
    assert!(!walk.messages("root").any(mine), "the parent's conversation is its own");
}

#[test]
fn an_agent_without_a_task_is_not_started() {
    let said = calls(
        "root",
        &[("agent_spawn", json!({ "prompt": " \n" })), ("agent_fork", json!({ "prompt": "" }))],
    );
    let walk = walk(&[said, ends()], &[]);
    for place in 0..2 {
        assert_eq!(walk.error(place), "the prompt is empty: say what is to be done");
    }
    assert!(walk.events.iter().all(|event| event.path.depth() == 0));
}

#[test]
fn an_agent_is_known_before_it_runs_and_its_result_is_kept() {
    let status = ("agent_status", json!({ "agent_id": "root.agent-1" }));
    let replies = [
        calls("root", &[spawn(json!({}))]),
        waits(&["root.agent-1"]),
        calls("root", &[status]),
        says("root.agent-1", "the result"),
        ends(),
    ];
    let walk = walk(&replies, &WAITING);
    let begun = walk.place("root.agent-1", |kind| matches!(kind, EventKind::Started { .. }));
    let said = walk.place("root.agent-1", |kind| matches!(kind, EventKind::Spent { .. }));
    let ended = walk.place("root.agent-1", is_end);
    assert!(begun < said && said < ended);
    assert_eq!(walk.answer(2)["output"], "the result", "also after it was told");
}
