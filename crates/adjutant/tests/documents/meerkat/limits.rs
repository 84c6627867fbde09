//! How many agents there may be, and how deep.

use serde_json::json;

use super::{WAITING, calls, ends, fork, hangs, spawn, waits, walk};
use crate::support::World;

#[test]
fn the_defaults_are_those_of_the_document() {
    let config = World::new().config(&["-c", "preset=meerkat"]);
    let table = [
        ("limits.max_depth", json!(3)),
        ("limits.max_concurrent_ops", json!(32)),
        ("limits.max_concurrent_agents", json!(8)),
        ("limits.max_children_per_agent", json!(5)),
        ("sub_agents.default_provider", json!("anthropic")),
        ("sub_agents.default_budget", json!(50_000)),
        ("sub_agents.inherit_system_prompt", json!(true)),
        ("sub_agents.comms", json!("off")),
        // The document has two answers; its agents have no tools to start others.
        ("sub_agents.allow_nested_spawn", json!(false)),
    ];
    for (name, expected) in table {
        assert_eq!(config[name]["value"], expected, "{name}");
    }
    for name in ["sub_agents.default_model", "sub_agents.max_budget_per_agent"] {
        assert!(config[name]["value"].is_null(), "{name}");
    }
}

#[test]
fn an_agent_has_five_children_at_one_time_and_a_place_is_free_again_after_each_end() {
    let six: Vec<_> = (0..6).map(|_| spawn(json!({}))).collect();
    let cancel = ("agent_cancel", json!({ "agent_id": "root.agent-1" }));
    let replies = [
        calls("root", &six),
        calls("root", &[fork(json!({}))]),
        calls("root", &[cancel]),
        calls("root", &[fork(json!({}))]),
        // One that fails, too, makes room, and so does one that completes.
        waits(&["root.fork-6"]),
        calls("root", &[spawn(json!({}))]),
        waits(&["root.agent-7"]),
        calls("root", &[spawn(json!({}))]),
        json!({ "agent": "root.fork-*", "error": { "kind": "refused", "message": "no" } }),
        json!({ "agent": "root.agent-7", "text": "ok" }),
        json!({ "agent": "root.agent-8", "text": "ok" }),
        json!({ "agent": "root.agent-*", "hang": true }),
        ends(),
    ];
    let walk = walk(&replies, &[&WAITING[..], &["-c", "sub_agents.at_end=cancel"]].concat());
    let full = "you have 5 children at work, the most you may have at one time: wait for one to \
                end (you are told when it does), cancel one, or do the task yourself";
    assert_eq!([walk.error(5), walk.error(6)], [full, full]);
    assert_eq!(walk.answer(7)["success"], true);
    for (place, child) in [(8, "root.fork-6"), (10, "root.agent-7"), (12, "root.agent-8")] {
        assert_eq!(walk.answer(place)["path"], child);
    }
    assert_eq!(walk.outcome("root.fork-6").ending.to_string(), "failed");
}

#[test]
fn there_are_eight_agents_at_one_time_in_the_whole_tree() {
    let nine: Vec<_> = (0..9).map(|_| spawn(json!({}))).collect();
    let more = ["-c", "limits.max_children_per_agent=20", "-c", "sub_agents.at_end=cancel"];
    let walk = walk(&[calls("root", &nine), hangs("root.agent-*"), ends()], &more);
    assert!(walk.error(8).starts_with("8 agents are at work, the most there may be"));
    assert_eq!(walk.results("root").iter().filter(|it| !it.failed).count(), 8);
}

#[test]
fn nested_spawning_is_off_unless_it_is_allowed_and_then_three_deep() {
    let deeper = || calls("root*", &[spawn(json!({}))]);
    let replies = [deeper(), json!({ "agent": "root*", "text": "ok", "times": "any" })];
    let off = walk(&replies, &[]);
    let error = &off.results("root.agent-1")[0];
    assert!(
        error.failed && error.text.contains("sub-agents may not start others here"),
        "{error:?}"
    );
    assert!(off.events.iter().all(|event| event.path.depth() < 2));
    let on = walk(&replies, &["-c", "sub_agents.allow_nested_spawn=true"]);
    let deepest = "root.agent-1.agent-1.agent-1";
    assert!(!on.tools(deepest).contains(&"agent_spawn".to_owned()), "not offered at the bottom");
    let error = &on.results(deepest)[0];
    assert!(
        error.failed && error.text.contains("Maximum sub-agent depth (3) exceeded"),
        "{error:?}"
    );
    assert!(on.events.iter().all(|event| event.path.depth() < 4));
    assert!(on.tools("root.agent-1").contains(&"agent_spawn".to_owned()));
}

#[test]
fn a_parent_that_ends_waits_for_its_children_or_cancels_them() {
    let replies = [
        calls("root", &[spawn(json!({}))]),
        json!({ "agent": "root.agent-1", "text": "found", "delay_ms": 50 }),
        ends(),
    ];
    let waits = walk(&replies, &[]);
    assert_eq!(waits.outcome("root.agent-1").text, "found");
    assert!(waits.news("root")[0].contains("found"));
    let replies = [calls("root", &[spawn(json!({}))]), hangs("root.agent-1"), ends()];
    let cancels = walk(&replies, &["-c", "sub_agents.at_end=cancel"]);
    assert_eq!(cancels.outcome("root.agent-1").ending.to_string(), "cancelled");
    assert_eq!(cancels.outcome("root").text, "done");
}

#[test]
fn an_agent_that_may_start_nobody_has_none_of_the_five() {
    let who = json!({ "agent_id": "root.agent-1" });
    let five = [
        spawn(json!({})),
        fork(json!({})),
        ("agent_status", who.clone()),
        ("agent_cancel", who),
        ("agent_list", json!({})),
    ];
    // A fork is told of them, for the provider's cache, and is refused them all the same.
    for (call, child) in [(spawn(json!({})), "root.agent-1"), (fork(json!({})), "root.fork-1")] {
        let end = json!({ "agent": child, "text": "ok" });
        let walk = walk(&[calls("root", &[call]), calls(child, &five), end, ends()], &[]);
        let results = walk.results(child);
        assert_eq!(results.len(), 5);
        assert!(results.iter().all(|it| it.failed), "{results:?}");
        assert!(walk.events.iter().all(|event| event.path.depth() < 2));
    }
}
