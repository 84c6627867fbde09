//! What a child may spend, and how deep it may be.

use adjutant_core::{Allowance, Ending, EventKind};
use serde_json::{Value, json};

use super::{Ran, call, read, run, spawned, world};
use crate::support::World;

#[test]
fn a_budget_is_the_default_but_for_what_the_call_says() {
    let ran = run(&spawned(&json!({}), &[]), &[]);
    let Allowance { calls, tokens, millis, .. } = ran.started("root.task-1").0.limits.allowance;
    let budget = [calls, tokens, millis].map(|amount| amount.unwrap().get());
    assert_eq!(budget, [15, 8192, 60_000]);
    let ran = run(&spawned(&json!({ "max_tool_calls": 5 }), &[]), &[]);
    let Allowance { calls, tokens, millis, .. } = ran.started("root.task-1").0.limits.allowance;
    let budget = [calls, tokens, millis].map(|amount| amount.unwrap().get());
    assert_eq!(budget, [5, 8192, 60_000]);
    assert!(!ran.told().contains("Note:"), "{}", ran.told());
}

#[test]
fn a_budget_is_cut_to_the_hard_stop_and_the_cut_is_said() {
    let ran = run(&spawned(&json!({ "max_tool_calls": 200 }), &[]), &[]);
    let calls = |ran: &Ran| ran.started("root.task-1").0.limits.allowance.calls.unwrap().get();
    assert_eq!(calls(&ran), 100);
    assert!(ran.told().ends_with("\nNote: tool calls 200 was cut to 100"), "{}", ran.told());
    let ran = run(&spawned(&json!({}), &[]), &["-c", "breaker.hard_stop_at=7"]);
    assert_eq!(calls(&ran), 7, "nor is the default more");
}

#[test]
fn a_budget_of_nothing_is_refused() {
    for calls in [0, -3] {
        let ran = run(&spawned(&json!({ "max_tool_calls": calls }), &[]), &[]);
        assert!(ran.complaint().contains("maxToolCalls must be positive"), "{}", ran.complaint());
        assert!(!ran.has_started("root.task-1"));
    }
    for (setting, why) in [
        (
            "sub_agents.blocking_calls=0",
            "`sub_agents.blocking_calls` must be positive, not 0 (maxToolCalls must be positive)",
        ),
        (
            "sub_agents.blocking_tokens=-1",
            "`sub_agents.blocking_tokens` must be positive, not -1 (maxTokens must be positive)",
        ),
        (
            "limits.blocking_timeout=4",
            "`limits.blocking_timeout` must be at least 5 seconds, not 4 (timeoutMs must be at least 5000)",
        ),
    ] {
        let said = world(&json!([])).refused(&["run", "-c", "preset=opta", "-c", setting, "go"]);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn nobody_is_deeper_than_two_below_the_root() {
    let deeper = |task: &str| json!({ "calls": [call("spawn_agent", json!({ "task": task }))] });
    let mut replies = vec![deeper("one")];
    for (agent, task) in [("root.task-1", "two"), ("root.task-1.task-1", "three")] {
        let mut reply = deeper(task);
        reply["agent"] = agent.into();
        replies.push(reply);
    }
    replies[0]["agent"] = "root".into();
    replies.push(json!({ "text": "done", "times": "any" }));
    let ran = run(&Value::Array(replies), &[]);
    let has_tools = |path: &str| ran.started(path).2.contains(&"spawn_agent".to_owned());
    assert!(has_tools("root.task-1") && !has_tools("root.task-1.task-1"));
    let refused = &ran.results("root.task-1.task-1")[0];
    assert!(
        refused.failed && refused.text.contains("Maximum sub-agent depth (2) exceeded"),
        "{refused:?}"
    );
    assert_eq!(ran.finished("root.task-1.task-1").0, Ending::Completed);
    assert_eq!(ran.done.code, Some(0));
}

#[test]
fn the_root_is_warned_asked_about_and_stopped() {
    let turn =
        |turn: usize| -> Vec<Value> { (0..5).map(|call| read(5 * turn + call + 1)).collect() };
    let mut replies: Vec<_> = (0..30).map(|number| json!({ "calls": turn(number) })).collect();
    replies.push(json!({ "text": "as far as I got", "last": true }));
    let ran = run(&Value::Array(replies), &[]);
    assert_eq!(ran.done.code, Some(4), "{:?}", ran.done.stderr);
    let (ending, receipt) = ran.finished("root");
    assert_eq!((ending, receipt.calls), (Ending::BudgetExceeded, 100));
    let asked = ran.at("root").filter(|kind| matches!(kind, EventKind::Asked { .. })).count();
    assert_eq!(asked, 3, "at 30, 60 and 90");
    let warned = ran.at("root").any(|kind| match kind {
        EventKind::Said { message } => message.text().contains("you have made 20 tool calls"),
        _ => false,
    });
    assert!(warned);
}

#[test]
fn a_project_does_not_put_off_when_a_person_is_asked() {
    let world = || World::new().user("preset = 'opta'");
    let said = world().project("breaker.pause_at = 31").refused(&["run", "go"]);
    assert!(said.contains("a project may not raise `breaker.pause_at` from 30 to 31"), "{said}");
    let config = world().project("breaker.pause_at = 29").config(&[]);
    assert_eq!(config["breaker.pause_at"]["value"], 29);
}
