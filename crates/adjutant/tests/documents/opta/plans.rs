//! What becomes of a plan.

use adjutant_core::{EventKind, Order};
use serde_json::{Value, json};

use super::{call, one_call, read, run, run_in, world};

fn plan(subtasks: &Value) -> Value {
    call("delegate_task", json!({ "plan": "understand it", "subtasks": subtasks }))
}

#[test]
fn a_plan_says_what_it_is_for() {
    let empty = json!({ "plan": " ", "subtasks": [{ "task": "look" }] });
    let ran = run(&one_call(&call("delegate_task", empty), &[]), &[]);
    assert_eq!(ran.complaint(), "`plan` is empty: say what it is all for");
    assert!(!ran.has_started("root.task-1"));
}

#[test]
fn subtasks_run_one_after_the_other_and_make_one_report() {
    let subtasks =
        json!([{ "task": "list" }, { "task": "free" }, { "task": "sum", "depends_on": 0 }]);
    let below = [
        json!({ "task": "sum", "text": "Analyzed" }),
        json!({ "task": "list", "text": "File list: a.ts, b.ts" }),
        json!({ "task": "free", "calls": [read(1)] }),
        json!({ "task": "free", "text": "Auth uses JWT" }),
    ];
    let ran = run_in(world(&one_call(&plan(&subtasks), &below)).file("a.txt", "a"), &[]);
    let begins = |path: &str| ran.position(path, |kind| matches!(kind, EventKind::Started { .. }));
    let ends = |path: &str| ran.position(path, |kind| matches!(kind, EventKind::Finished { .. }));
    assert!(ends("root.task-1") < begins("root.task-2"));
    assert!(ends("root.task-2") < begins("root.task-3"));
    let (first, third) = (ran.started("root.task-1").0, ran.started("root.task-3").0);
    assert!(third.task.starts_with("sum") && third.task.contains("File list: a.ts, b.ts"));
    assert!(!third.task.contains("JWT"), "it does not depend on that");
    let budget = |order: &Order| order.limits.allowance.calls.unwrap().get();
    assert_eq!((budget(&first), budget(&third)), (15, 15));
    assert!(first.instructions.unwrap().contains("15 tool calls"));
    let report = ran.told();
    for part in [
        "Delegation: understand it\nCompleted: 3/3\nTotal: 1 tool calls, ",
        "--- Subtask 0: list ---\nStatus: completed\nSub-agent result: completed (0 tool calls, ",
        "File list: a.ts, b.ts",
        "--- Subtask 1: free ---",
        "Auth uses JWT",
        "--- Subtask 2: sum ---",
        "Analyzed",
    ] {
        assert!(report.contains(part), "`{part}` is missing:\n{report}");
    }
    assert_eq!(ran.finished("root").1.calls, 1);
}

#[test]
fn an_error_ends_a_plan_unless_the_settings_say_otherwise() {
    let subtasks =
        json!([{ "task": "fails" }, { "task": "next" }, { "task": "more", "depends_on": [0] }]);
    let error = json!({ "kind": "refused", "message": "no" });
    let below = [json!({ "task": "fails", "error": error })];
    for (setting, completed, started) in [
        ("sub_agents.stop_on_error=true", "Completed: 0/3", 1),
        ("sub_agents.stop_on_error=false", "Completed: 1/3", 2),
    ] {
        let ran = run(&one_call(&plan(&subtasks), &below), &["-c", setting]);
        let report = ran.complaint();
        assert!(report.contains("Status: error") && report.contains(completed), "{report}");
        assert!(report.contains("Status: skipped\nnot begun, because of subtask 0"), "{report}");
        let begun =
            ran.events.iter().filter(|event| matches!(event.kind, EventKind::Started { .. }));
        assert_eq!(begun.count(), 1 + started, "{setting}");
        assert_eq!(ran.done.code, Some(0), "the parent goes on");
    }
}

#[test]
fn a_plan_has_five_subtasks_at_most() {
    let subtasks = Value::Array(vec![json!({ "task": "x" }); 8]);
    let ran = run(&one_call(&plan(&subtasks), &[]), &[]);
    assert!(ran.complaint().contains("Maximum 5 subtasks"), "{}", ran.complaint());
    assert!(!ran.has_started("root.task-1"));
}
