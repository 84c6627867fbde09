//! What a child may spend: nothing of it is accepted and ignored.

use serde_json::{Value, json};

use super::{WAITING, Walk, calls, ends, fork, says, spawn, waits, walk};

/// Starts a child and returns how many tokens it was given, and the notes to its parent.
fn given(call: (&str, Value), more: &[&str]) -> (Option<u64>, Value) {
    let mut first = calls("root", &[call]);
    first["usage"] = json!({ "input": 900, "output": 100 });
    let walk = walk(&[first, says("root.*", "ok"), ends()], more);
    let child = walk.events.iter().find(|it| it.path.depth() == 1);
    let child = child.unwrap_or_else(|| panic!("{:?}", walk.results("root"))).path.to_string();
    let tokens = walk.started(&child)["order"]["limits"]["allowance"]["tokens"].as_u64();
    (tokens, walk.answer(0)["notes"].clone())
}

#[test]
fn a_spawned_agent_has_fifty_thousand_tokens_or_what_is_asked_up_to_the_most() {
    let asks = |tokens: u64| spawn(json!({ "budget": { "max_tokens": tokens } }));
    assert_eq!(given(spawn(json!({})), &[]), (Some(50_000), Value::Null));
    assert_eq!(given(asks(70_000), &[]), (Some(70_000), Value::Null));
    assert_eq!(given(spawn(json!({})), &["-c", "sub_agents.default_budget=300"]).0, Some(300));
    let most = ["-c", "sub_agents.max_budget_per_agent=20000"];
    assert_eq!(given(asks(10_000), &most), (Some(10_000), Value::Null));
    let said = |asked: u64| json!([format!("tokens {asked} was cut to 20000")]);
    assert_eq!(given(asks(70_000), &most), (Some(20_000), said(70_000)));
    assert_eq!(
        given(spawn(json!({})), &most),
        (Some(20_000), Value::Null),
        "nobody asked for more"
    );
}

#[test]
fn a_fork_has_what_its_policy_says() {
    let policy = |policy: &str| fork(json!({ "budget_policy": policy }));
    assert_eq!(given(fork(json!({})), &[]).0, Some(50_000), "equal, when nothing is said");
    assert_eq!(given(policy("equal"), &[]).0, Some(50_000));
    assert_eq!(given(policy("fixed:1234"), &[]).0, Some(1234));
    let most = ["-c", "sub_agents.max_budget_per_agent=1000"];
    let cut = json!(["tokens 1234 was cut to 1000"]);
    assert_eq!(given(policy("fixed:1234"), &most), (Some(1000), cut));
    assert_eq!(given(policy("equal"), &most).0, Some(1000));
    let purse = ["-c", "budget.tokens=90000"];
    assert_eq!(given(policy("remaining"), &purse).0, Some(89_000), "what the first turn left");
    assert_eq!(given(policy("proportional"), &purse).0, Some(44_500), "its parent has the rest");
    assert_eq!(given(policy("remaining"), &[&purse[..], &most].concat()).0, Some(1000));
    assert_eq!(given(policy("remaining"), &[]).0, None, "its parent has no limit either");
}

#[test]
fn a_proportional_share_counts_those_who_draw_on_the_purse() {
    let second = fork(json!({ "budget_policy": "proportional" }));
    let first = json!({
        "agent": "root",
        "calls": [
            { "tool": "agent_spawn", "args": { "prompt": "x" } },
            { "tool": second.0, "args": second.1 },
        ],
        "usage": { "input": 900, "output": 100 },
    });
    let replies = [first, super::hangs("root.*"), ends()];
    let more = ["-c", "budget.tokens=91000", "-c", "sub_agents.at_end=cancel"];
    let walk = walk(&replies, &more);
    let tokens = &walk.started("root.fork-2")["order"]["limits"]["allowance"]["tokens"];
    assert_eq!(*tokens, 30_000, "the parent, the first child and this one");
}

#[test]
fn another_policy_or_an_empty_budget_is_refused() {
    let policies = ["half", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:many", "Equal", ""];
    let forks = policies.map(|policy| fork(json!({ "budget_policy": policy })));
    let limits = ["max_tokens", "max_turns", "max_tool_calls"];
    let spawns = limits.map(|limit| spawn(json!({ "budget": { limit: 0 } })));
    let unknown = spawn(json!({ "budget": { "max_money": 1 } }));
    let all: Vec<_> = forks.into_iter().chain(spawns).chain([unknown]).collect();
    let walk = walk(&[calls("root", &all), ends()], &[]);
    for (place, policy) in policies.iter().enumerate() {
        let expected = format!(
            "`budget_policy` is `{policy}`: expected equal, remaining, proportional or fixed:N"
        );
        assert!(walk.error(place).starts_with(&expected), "{}", walk.error(place));
    }
    for (place, limit) in limits.iter().enumerate() {
        let error = walk.error(policies.len() + place);
        assert_eq!(error, format!("`budget.{limit}` must be positive"));
    }
    assert!(walk.error(policies.len() + 3).contains("unknown field `max_money`"));
    assert!(walk.events.iter().all(|event| event.path.depth() == 0));
}

/// Runs a child that would look around for ever.
fn endless(budget: &Value) -> Walk {
    let replies = [
        calls("root", &[spawn(json!({ "budget": budget }))]),
        waits(&["root.agent-1"]),
        calls("root", &[("agent_status", json!({ "agent_id": "root.agent-1" }))]),
        json!({ "agent": "root.agent-1", "last": true, "text": "as far as I got" }),
        json!({
            "agent": "root.agent-1", "times": "any",
            "calls": [{ "tool": "list_dir", "args": {} }, { "tool": "find_files",
                "args": { "pattern": "*.rs" } }],
            "usage": { "input": 1000, "output": 10 },
        }),
        ends(),
    ];
    walk(&replies, &WAITING)
}

#[test]
fn each_limit_ends_a_child_with_what_it_found() {
    let table = [
        (json!({ "max_turns": 2 }), "has used its 2 turns", 4),
        (json!({ "max_tool_calls": 3 }), "has used its 3 tool calls", 3),
        (json!({ "max_tokens": 2500 }), "tokens", 4),
    ];
    for (budget, reason, calls) in table {
        let walk = endless(&budget);
        let status = walk.answer(2);
        assert_eq!((&status["state"], &status["is_final"]), (&json!("failed"), &json!(true)));
        let error = status["error"].as_str().unwrap();
        assert!(error.starts_with("budget_exceeded: ") && error.contains(reason), "{error}");
        assert_eq!(status["output"], "as far as I got", "{budget}");
        let done = walk.results("root.agent-1").iter().filter(|it| !it.failed).count();
        assert!(done <= calls, "{budget}: {done}");
    }
}

#[test]
fn what_was_cut_is_still_told_when_the_agent_has_ended() {
    let replies = [
        calls("root", &[spawn(json!({ "budget": { "max_tokens": 70_000 } }))]),
        waits(&["root.agent-1"]),
        calls("root", &[("agent_status", json!({ "agent_id": "root.agent-1" }))]),
        says("root.agent-1", "ok"),
        ends(),
    ];
    let most = ["-c", "sub_agents.max_budget_per_agent=20000"];
    let walk = walk(&replies, &[WAITING, most].concat());
    assert_eq!(walk.answer(2)["notes"], json!(["tokens 70000 was cut to 20000"]));
    assert_eq!(walk.started("root.agent-1")["clamped"][0]["given"], "20000");
}
