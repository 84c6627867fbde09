//! A plan does what can be done, in an order in which it can be, and says what was not.

use std::time::Duration;

use adjutant_core::{
    Allowance, Answer, Command, Ending, Event, ModelError, OnError, PlanState, TaskNote, Trouble,
};
use adjutant_models::script::{Call, Script};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Plan, Reply, Tree, call, count, has_result, is_finished, is_started, spawn};

const SECOND: Duration = Duration::from_secs(1);

/// Calls `delegate_task`. Each subtask is its words and what it needs.
fn plan(subtasks: &[(&str, &[usize])]) -> Call {
    let subtasks: Vec<_> =
        subtasks.iter().map(|(task, needs)| json!({ "task": task, "depends_on": needs })).collect();
    call("p", "delegate_task", json!({ "plan": "all of it", "subtasks": subtasks }))
}

/// A root that carries out a plan.
fn root(plan: Call) -> Script {
    Script::new().on("root", [Reply::calls([plan]), Reply::text("done")])
}

fn fails() -> Reply {
    Reply::error(ModelError::new(Trouble::Refused, "connection refused"))
}

fn look(number: u64) -> Reply {
    let read = json!({ "path": "Cargo.toml", "offset": number });
    Reply::calls([call("r", "read_file", read)])
}

fn at_once(
    count: usize,
    on_error: OnError,
) -> impl FnOnce(&mut adjutant_tools::DelegationSettings) {
    move |delegation| {
        delegation.plans.at_once = count;
        delegation.plans.on_error = on_error;
    }
}

fn starts(tree: &Tree) -> usize {
    tree.seen.iter().filter(|event| is_started(&event.kind)).count() - 1
}

fn states(tree: &Tree) -> Vec<PlanState> {
    PlanState::fold(tree.seen.iter().map(|event| -> &Event { event }))
}

fn skipped(because_of: usize) -> Option<TaskNote> {
    Some(TaskNote::Skipped { because_of })
}

#[tokio::test(start_paused = true)]
async fn independent_subtasks_run_side_by_side_up_to_the_limit() {
    for (most, seconds) in [(1, 4), (2, 2), (3, 2), (4, 1)] {
        let script = root(plan(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])]))
            .on("root.*", [Reply::text("ok").after(SECOND)]);
        let start = Instant::now();
        let plan = Plan::new(script).delegating(at_once(most, OnError::Stop));
        let mut tree = plan.begin("go").await;
        tree.end().await;
        assert!(tree.results("root")[0].contains("Completed: 4/4"), "{:?}", tree.results("root"));
        let took = start.elapsed();
        assert!(took >= seconds * SECOND && took < (seconds + 1) * SECOND, "{most}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_subtask_needs_is_done_before_it_and_handed_on() {
    let script = root(plan(&[("sum up", &[2, 1, 1]), ("list", &[]), ("count", &[1])]))
        .on_task("sum up", [Reply::text("all is well")])
        .on_task("count", [Reply::text("two files")])
        .on_task("list", [Reply::text("a.ts, b.ts")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let tasks: Vec<_> = (1..=3).map(|n| tree.heard(&format!("root.task-{n}"))[0].clone()).collect();
    assert_eq!(tasks[0], "list");
    assert!(tasks[1].starts_with("count\n\n[result of subtask 1;"), "{tasks:?}");
    assert!(tasks[1].ends_with("]\na.ts, b.ts"), "{tasks:?}");
    assert!(tasks[2].starts_with("sum up\n") && tasks[2].contains("\ntwo files"), "{tasks:?}");
    assert_eq!(tasks[2].matches("result of subtask 1").count(), 1, "{tasks:?}");
    let report = &tree.results("root")[0];
    let places = ["all is well", "a.ts, b.ts", "two files"].map(|text| report.find(text).unwrap());
    assert!(places.is_sorted(), "{report}");
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_on_is_bounded_and_says_where_it_is_incomplete() {
    let script = root(plan(&[("long", &[]), ("short", &[0])]))
        .on_task("long", [look(1), look(2), Reply::text("é".repeat(5000)).last()])
        .on_task("short", [Reply::text("ok")]);
    let calls = |delegation: &mut adjutant_tools::DelegationSettings| {
        delegation.blocking.calls = count(1);
    };
    let mut tree = Plan::new(script).delegating(calls).begin("go").await;
    tree.end().await;
    let task = &tree.heard("root.task-2")[0];
    assert!(task.contains("subtask 0 (budget_exceeded: it may be incomplete)"), "{task}");
    assert!(task.ends_with("[1808 bytes left out]"), "{task}");
    assert_eq!(task.matches('é').count(), 4096);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_begun_after_an_error_and_what_is_at_work_ends() {
    let script = root(plan(&[("bad", &[]), ("slow", &[]), ("next", &[]), ("after", &[2])]))
        .on_task("bad", [fails()])
        .on_task("slow", [Reply::text("slow and good").after(SECOND)]);
    let mut tree = Plan::new(script).delegating(at_once(2, OnError::Stop)).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(starts(&tree), 2);
    let report = &tree.results("root")[0];
    for part in [
        "Completed: 1/4",
        "--- Subtask 0: bad ---\nStatus: error\n",
        "connection refused",
        "slow and good",
        "--- Subtask 2: next ---\nStatus: skipped\nnot begun, because of subtask 0\n",
        "--- Subtask 3: after ---\nStatus: skipped\nnot begun, because of subtask 2\n",
    ] {
        assert!(report.contains(part), "`{part}` is missing:\n{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_stop_only_those_are_left_out_that_need_what_failed() {
    let script =
        root(plan(&[("last", &[1]), ("mid", &[3]), ("odd", &[]), ("base", &[]), ("free", &[])]))
            .on_task("odd", [fails()])
            .on_task("base", [fails()])
            .on_task("free", [Reply::text("free")]);
    let mut tree = Plan::new(script).delegating(at_once(1, OnError::GoOn)).begin("go").await;
    tree.end().await;
    assert_eq!(starts(&tree), 3);
    let ends = &states(&tree)[0].ends;
    assert_eq!(ends[..2], [skipped(1), skipped(3)]);
    assert!(tree.results("root")[0].contains("Completed: 1/5"));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_cannot_be_carried_out_is_refused_before_anything_starts() {
    let task = |needs: Value| json!({ "task": "x", "depends_on": needs });
    let six = vec![json!({ "task": "x" }); 6];
    for (subtasks, why) in [
        (vec![], "it has no subtasks"),
        (six, "Maximum 5 subtasks"),
        (vec![task(json!(1)), task(json!(0))], "goes in a circle: 0, 1"),
        (vec![task(json!([])), task(json!(1))], "goes in a circle: 1"),
        (
            vec![task(json!([])), task(json!([0, 2]))],
            "subtask 1 depends on subtask 2, and the last",
        ),
        (vec![task(json!(-1))], "`depends_on` is the index of a sub-task (0-based), or a list"),
        (vec![task(json!(0.5))], "`depends_on` is the index of a sub-task (0-based), or a list"),
        (vec![json!({ "task": "x" }), json!({ "task": " " })], "subtask 1: the prompt is empty"),
        (vec![json!({ "task": "x", "mode": "auto" })], "unknown field `mode`"),
    ] {
        let script = root(call("p", "delegate_task", json!({ "plan": "p", "subtasks": subtasks })));
        let mut tree = Plan::new(script).begin("go").await;
        assert_eq!(tree.end().await.text, "done");
        assert!(tree.results("root")[0].contains(why), "{why}: {:?}", tree.results("root"));
        assert_eq!((starts(&tree), states(&tree)), (0, vec![]), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_waits_for_its_own_when_the_tree_is_full() {
    for (agents, children) in [(2, 9), (9, 2)] {
        let script = root(plan(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])]))
            .on("root.*", [Reply::text("ok").after(SECOND)]);
        let plan = Plan::new(script).delegating(at_once(4, OnError::Stop)).settings(|settings| {
            settings.max_concurrent_agents = agents;
            settings.max_children_per_agent = children;
        });
        let mut tree = plan.begin("go").await;
        tree.end().await;
        assert!(tree.results("root")[0].contains("Completed: 4/4"), "{:?}", tree.results("root"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_does_not_wait_for_a_place_that_others_may_hold_for_ever() {
    let script = Script::new()
        .on("root", [Reply::calls([spawn("s", "hang")]), Reply::calls([plan(&[("a", &[])])])])
        .on("root", [Reply::text("done")])
        .on_task("hang", [Reply::hang()]);
    let plan = Plan::new(script).settings(|settings| settings.max_concurrent_agents = 1);
    let mut tree = plan.begin("go").await;
    tree.until_at("root", has_result("p")).await;
    let results = tree.results("root");
    assert!(results[1].contains("Status: error\n1 agent is at work"), "{results:?}");
    tree.send("root", Command::Cancel).await;
    tree.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_cancelled_leaves_nothing_behind() {
    for on_error in [OnError::Stop, OnError::GoOn] {
        let script =
            root(plan(&[("a", &[]), ("b", &[]), ("c", &[])])).on("root.*", [Reply::hang()]);
        let mut tree = Plan::new(script).delegating(at_once(2, on_error)).begin("go").await;
        tree.until_at("root.task-2", is_started).await;
        tree.send("root", Command::Cancel).await;
        assert_eq!(tree.end().await.ending, Ending::Cancelled);
        assert_eq!(starts(&tree), 2);
        let ends = tree.seen.iter().filter(|event| is_finished(&event.kind)).count();
        assert_eq!(ends, 3, "{:#?}", tree.seen);
        let state = &states(&tree)[0];
        assert_eq!(state.unfinished().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(state.ends.iter().all(Option::is_some), "{state:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_events_tell_at_any_moment_what_is_still_to_be_done() {
    let script = root(plan(&[("a", &[]), ("b", &[0]), ("c", &[])]))
        .on_task("c", [fails()])
        .on("root.*", [Reply::text("ok")]);
    let mut tree = Plan::new(script).delegating(at_once(1, OnError::GoOn)).begin("go").await;
    tree.end().await;
    let mut steps: Vec<Vec<usize>> = (0..=tree.seen.len())
        .filter_map(|seen| {
            let state = PlanState::fold(tree.seen[..seen].iter().map(|event| -> &Event { event }));
            Some(state.first()?.unfinished().collect())
        })
        .collect();
    steps.dedup();
    assert_eq!(steps, [vec![0, 1, 2], vec![1, 2], vec![2]]);
    let state = &states(&tree)[0];
    assert_eq!((state.path.as_str(), &*state.call_id), ("root", "p"));
    assert_eq!((&*state.plan.goal, state.plan.tasks.len()), ("all of it", 3));
    let ended = |agent: &str, ending| TaskNote::Ended { agent: agent.parse().unwrap(), ending };
    let ends = [
        ended("root.task-1", Ending::Completed),
        ended("root.task-2", Ending::Completed),
        ended("root.task-3", Ending::Failed),
    ];
    assert_eq!(state.ends, ends.map(Some));
}

#[tokio::test(start_paused = true)]
async fn the_parents_clock_stands_still_while_a_subtask_asks() {
    let ask = call("q", "ask_user", json!({ "question": "which?" }));
    let script = root(plan(&[("quick", &[]), ("asks", &[])]))
        .on_task("quick", [Reply::text("ok")])
        .on_task("asks", [Reply::calls([ask]), Reply::text("thanks")]);
    let minute = Allowance { millis: count(60_000), ..Allowance::default() };
    let (mut tree, _there) = Plan::new(script).allowance(minute).begin_attended("go").await;
    let question = tree.question("root.task-2").await;
    sleep(3600 * SECOND / 2).await;
    tree.answer("root.task-2", question, Answer::Words { text: "this".to_owned() }).await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    assert!(tree.results("root")[0].contains("Completed: 2/2"));
}

#[tokio::test(start_paused = true)]
async fn plans_in_plans_run_on_one_place() {
    let script = root(plan(&[("upper one", &[]), ("upper two", &[0])]))
        .on_task("upper", [Reply::calls([plan(&[("lower", &[]), ("lower", &[0])])])])
        .on_task("upper", [Reply::text("up")])
        .on_task("lower", [look(1), Reply::text("down")]);
    let plan = Plan::new(script).settings(|settings| {
        settings.max_concurrent_ops = 1;
        settings.max_model_calls = 1;
    });
    let mut tree = plan.begin("go").await;
    tree.end().await;
    assert!(tree.results("root")[0].contains("Completed: 2/2"), "{:?}", tree.results("root"));
    assert_eq!(starts(&tree), 6);
    assert_eq!(states(&tree).len(), 3);
}
