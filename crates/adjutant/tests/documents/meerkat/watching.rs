//! How children are watched, and cancelled.

use serde_json::{Value, json};

use super::{WAITING, calls, ends, fork, hangs, is_end, says, spawn, waits, walk};

fn of(agent: &str) -> Value {
    json!({ "agent_id": agent })
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_status_of_an_agent_is_one_of_four_and_says_what_it_found() {
    let replies = [
        calls("root", &[spawn(json!({})), spawn(json!({})), spawn(json!({}))]),
        calls("root", &[("agent_status", of("root.agent-3"))]),
        calls("root", &[("agent_cancel", of("root.agent-3"))]),
        waits(&["root.agent-1", "root.agent-2"]),
        calls("root", &["1", "2", "3"].map(|n| ("agent_status", of(&format!("root.agent-{n}"))))),
        json!({
            "agent": "root.agent-1", "text": "The analysis shows…",
            "usage": { "input": 30, "output": 2 },
        }),
        json!({ "agent": "root.agent-2", "error": { "kind": "refused", "message": "I will not" } }),
        hangs("root.agent-3"),
        ends(),
    ];
    let walk = walk(&replies, &WAITING);
    let results: Vec<Value> = walk
        .results("root")
        .iter()
        .map(|it| serde_json::from_str(&it.text).unwrap_or_else(|_| panic!("{}", it.text)))
        .collect();
    let running = &results[3];
    assert_eq!((&running["state"], &running["is_final"]), (&json!("running"), &json!(false)));
    assert!(running.get("output").is_none() && running.get("error").is_none(), "{running}");
    let ends: Vec<_> = results.iter().skip(6).collect();
    let [completed, failed, cancelled] = ends[..] else { panic!("{results:#?}") };
    let fields = ["agent_id", "path", "state", "output", "is_final", "duration_ms", "tokens_used"];
    assert_eq!(names(completed).len(), fields.len(), "{completed}");
    assert!(fields.iter().all(|field| completed.get(field).is_some()), "{completed}");
    assert_eq!(completed["agent_id"], results[0]["agent_id"]);
    assert_eq!(completed["output"], "The analysis shows…");
    assert_eq!(completed["tokens_used"], 32);
    assert!(completed["duration_ms"].is_u64());
    assert_eq!(failed["error"], "failed: the model failed: I will not");
    assert!(failed.get("output").is_none());
    let states = [completed, failed, cancelled].map(|it| (&it["state"], &it["is_final"]));
    let expected = ["completed", "failed", "cancelled"].map(|it| (json!(it), json!(true)));
    assert_eq!(states, expected.each_ref().map(|(state, is_final)| (state, is_final)));
}

#[test]
fn a_stranger_is_not_found() {
    let who = ["who", "root", "root.agent-9", "019467d9-7e3a-7000-8000-000000000000"];
    let asks = ["agent_status", "agent_cancel"];
    let wanted: Vec<_> = asks.iter().flat_map(|tool| who.map(|who| (*tool, of(who)))).collect();
    let walk = walk(&[calls("root", &wanted), ends()], &[]);
    for (place, (_, who)) in wanted.iter().enumerate() {
        let who = who["agent_id"].as_str().unwrap();
        let expected = format!("there is no agent `{who}` below you: `agent_list` shows those");
        assert!(walk.error(place).starts_with(&expected), "{}", walk.error(place));
    }
}

#[test]
fn a_running_agent_is_really_cancelled_and_only_once() {
    let cancel = || calls("root", &[("agent_cancel", of("root.agent-1"))]);
    let replies =
        [calls("root", &[spawn(json!({}))]), cancel(), cancel(), hangs("root.agent-1"), ends()];
    let walk = walk(&replies, &[]);
    let expected = json!({
        "success": true, "previous_state": "running", "message": "Sub-agent cancelled successfully",
    });
    assert_eq!(walk.answer(1), expected);
    let expected = json!({
        "success": false,
        "previous_state": "cancelled",
        "message": "Cannot cancel sub-agent: already cancelled (only running agents can be \
                    cancelled)",
    });
    assert_eq!(walk.answer(2), expected);
    assert_eq!(walk.outcome("root.agent-1").ending.to_string(), "cancelled");
    let told = walk.results("root")[1].call.clone();
    let answered = walk.place("root", |kind| match kind {
        adjutant_core::EventKind::Said { message } => match &**message {
            adjutant_core::Message::Tools { results } => results[0].call == told,
            _ => false,
        },
        _ => false,
    });
    assert!(walk.place("root.agent-1", is_end) < answered, "it is gone when that is said");
    assert!(walk.news("root").is_empty(), "who cancels needs no news");
}

#[test]
fn one_that_has_completed_is_not_cancelled() {
    let replies = [
        calls("root", &[spawn(json!({}))]),
        waits(&["root.agent-1"]),
        calls("root", &[("agent_cancel", of("root.agent-1"))]),
        says("root.agent-1", "ok"),
        ends(),
    ];
    let walk = walk(&replies, &WAITING);
    let answer = walk.answer(2);
    assert_eq!(answer["success"], false);
    let message =
        "Cannot cancel sub-agent: already completed (only running agents can be cancelled)";
    assert_eq!(
        (&answer["message"], &answer["previous_state"]),
        (&json!(message), &json!("completed"))
    );
}

#[test]
fn the_list_has_everyone_with_counts() {
    let replies = [
        calls("root", &[("agent_list", json!({}))]),
        calls("root", &[spawn(json!({})), fork(json!({}))]),
        calls("root", &[("agent_list", json!({}))]),
        calls("root", &[("agent_cancel", of("root.agent-1"))]),
        waits(&["root.fork-2"]),
        calls("root", &[("agent_list", json!({}))]),
        hangs("root.agent-1"),
        json!({ "agent": "root.fork-2", "error": { "kind": "refused", "message": "no" } }),
        ends(),
    ];
    let walk = walk(&replies, &WAITING);
    let nobody = walk.answer(0);
    let counts = |list: &Value| {
        ["running_count", "completed_count", "failed_count", "cancelled_count", "total_count"]
            .map(|count| list[count].as_u64().unwrap())
    };
    assert_eq!((nobody["agents"].as_array().unwrap().len(), counts(&nobody)), (0, [0; 5]));
    let first = walk.answer(3);
    assert_eq!(counts(&first)[4], 2);
    let agent = &first["agents"][0];
    assert_eq!(agent["id"], walk.answer(1)["agent_id"]);
    assert_eq!(agent["name"], walk.answer(1)["name"]);
    assert_eq!((&agent["state"], &agent["depth"]), (&json!("running"), &json!(1)));
    assert!(agent["running_ms"].is_u64());
    assert_eq!(first["agents"][1]["name"], walk.answer(2)["name"], "a fork is called one");
    let last = walk.answer(6);
    assert_eq!(counts(&last), [0, 0, 1, 1, 2], "{last}");
}
