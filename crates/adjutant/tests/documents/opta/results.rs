//! What comes back from a child.

use adjutant_core::Ending;
use serde_json::json;

use super::{call, one_call, read, run, run_in, spawned, world};

#[test]
fn a_result_has_the_status_the_totals_the_answer_and_the_files() {
    let edit = call("edit_file", json!({ "path": "a.txt", "old_text": "one", "new_text": "1" }));
    let below = [
        json!({ "calls": [read(1)], "delay_ms": 1200, "text": "let me look" }),
        json!({ "calls": [edit, read(2)] }),
        json!({ "text": "found the bug" }),
    ];
    let ran = run_in(world(&spawned(&json!({}), &below)).file("a.txt", "one\ntwo\n"), &[]);
    let told = ran.told();
    let (head, rest) = told.split_once('\n').unwrap();
    assert!(head.starts_with("Sub-agent result: completed (3 tool calls, "), "{told}");
    let millis = ran.finished("root.task-1").1.millis;
    assert!(millis >= 1200, "{millis}");
    let seconds = format!(", {}.{}s)", millis / 1000, millis % 1000 / 100);
    assert!(head.ends_with(&seconds), "{told}");
    let directory = ran.world.working_directory().canonicalize().unwrap();
    let file = directory.join("a.txt");
    let expected = format!("found the bug\nFiles read: {0}\nFiles modified: {0}", file.display());
    assert_eq!(rest, expected, "the answer alone, without the narration");
}

#[test]
fn a_parent_is_charged_one_call_for_all_its_child_does() {
    let below = [json!({ "calls": [read(1), read(2), read(3)] })];
    let ran = run(&spawned(&json!({}), &below), &[]);
    assert_eq!((ran.finished("root").1.calls, ran.finished("root.task-1").1.calls), (1, 3));
}

#[test]
fn at_its_limit_of_calls_a_child_hands_over_what_it_found() {
    let mut below: Vec<_> = (1..20).map(|number| json!({ "calls": [read(number)] })).collect();
    below.push(json!({ "text": "as far as I got", "last": true }));
    let ran = run(&spawned(&json!({ "max_tool_calls": 3 }), &below), &[]);
    let told = ran.told();
    let head = "[BUDGET EXCEEDED] Sub-agent result: budget_exceeded (3 tool calls, ";
    assert!(told.starts_with(head) && told.contains("\nas far as I got"), "{told}");
    let (ending, receipt) = ran.finished("root.task-1");
    assert_eq!((ending, receipt.calls), (Ending::BudgetExceeded, 3));
    assert_eq!(ran.done.code, Some(0));
}

#[test]
fn at_its_limit_of_tokens_too() {
    let usage = json!({ "input": 1000, "output": 100 });
    let looks = |number| json!({ "calls": [read(number)], "usage": usage });
    let mut below: Vec<_> = (1..15).map(looks).collect();
    below.push(json!({ "text": "as far as I got", "last": true, "usage": usage }));
    let ran = run(&spawned(&json!({}), &below), &[]);
    assert!(ran.told().contains("budget_exceeded") && ran.told().contains("as far as I got"));
    let (ending, receipt) = ran.finished("root.task-1");
    assert_eq!(ending, Ending::BudgetExceeded);
    assert!(receipt.tokens > 4096 && receipt.tokens <= 8192, "{receipt:?}");
}

#[test]
fn a_child_whose_time_is_up_says_what_it_has() {
    let below = [
        json!({ "calls": [read(1)] }),
        json!({ "text": "half of it", "last": true }),
        json!({ "hang": true }),
    ];
    let ran = run(&spawned(&json!({}), &below), &["-c", "limits.blocking_timeout=5"]);
    let told = ran.complaint();
    assert!(told.starts_with("[TIMEOUT] Sub-agent result: timeout (1 tool calls, "), "{told}");
    assert!(told.contains("half of it"), "{told}");
    assert!(ran.finished("root.task-1").1.millis >= 4000);
    assert_eq!(ran.done.code, Some(0), "the parent goes on");
}

#[test]
fn an_error_is_marked_and_says_why() {
    let error = json!({ "error": { "kind": "refused", "message": "Connection refused" } });
    let ran = run(&spawned(&json!({}), &[error]), &[]);
    let told = ran.complaint();
    assert!(told.starts_with("[ERROR] Sub-agent result: error (0 tool calls, "), "{told}");
    assert!(told.contains("\nError: ") && told.contains("Connection refused"), "{told}");
    assert_eq!(ran.done.code, Some(0), "the parent goes on");
}

#[test]
fn a_call_that_makes_no_sense_starts_nobody() {
    for (arguments, why) in [
        (json!({}), "missing field `task`"),
        (json!({ "task": "  " }), "is empty"),
        (json!({ "task": "x", "tools": ["read_file"] }), "unknown field `tools`"),
        (json!({ "task": "x", "max_tool_calls": "many" }), "`max_tool_calls`"),
    ] {
        let ran = run(&one_call(&call("spawn_agent", arguments), &[]), &[]);
        assert!(ran.complaint().contains(why), "{}", ran.complaint());
        assert!(!ran.has_started("root.task-1"));
    }
}
