//! What children and tools hand back reaches the right place, once, in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use adjutant_core::{
    Effect, Ending, EventKind, Host, Refusal, StopReason, Tool, ToolError, ToolSpec, Tree as Folded,
};
use adjutant_models::script::Script;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{Does, Plan, Reply, call, has_result, is_finished, is_started, sub};

#[tokio::test(start_paused = true)]
async fn results_have_the_order_of_the_calls_and_not_of_the_ends() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "slow"), sub("c2", "fast")]), Reply::text("done")])
        .on_task("slow", [Reply::text("tortoise").after(Duration::from_secs(9))])
        .on_task("fast", [Reply::text("hare")]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let ended = tree.seen.iter().filter(|event| is_finished(&event.kind));
    let paths: Vec<_> = ended.map(|event| event.path.as_str()).collect();
    assert_eq!(paths, ["root.sub-2", "root.sub-1", "root"]);
    let results = tree.results("root");
    assert!(results[0].starts_with("tortoise\n"), "{results:?}");
    assert!(results[1].starts_with("hare\n"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn only_the_final_words_come_back() {
    let narrated = Reply::calls([call("c1", "list_dir", json!({}))]).saying("let me look");
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "look")]), Reply::text("done")])
        .on_task("look", [narrated, Reply::text("found it")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].starts_with("found it\n"), "{results:?}");
    assert!(!results[0].contains("let me look"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_is_an_error_and_not_a_dead_agent() {
    let script = Script::new().on(
        "root",
        [
            Reply::calls([call("c1", "bomb", json!({})), call("c2", "list_dir", json!({}))]),
            Reply::text("survived"),
        ],
    );
    let bomb = Does::new("bomb", Effect::Read, |_| Box::pin(async { panic!("boom") }));
    let mut tree = Plan::new(script).tool(bomb).begin("go").await;
    assert_eq!(tree.end().await.text, "survived");
    let results = tree.results("root");
    assert_eq!(results[0], "the tool broke: boom");
    assert!(results[1].contains("Cargo.toml"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_child_is_a_result_and_not_a_dead_parent() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "fail")]), Reply::text("went on")])
        .on_task("fail", [Reply::error(refused("the model is gone"))]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    let results = tree.results("root");
    assert!(results[0].contains("the model is gone"), "{results:?}");
    assert_eq!(tree.receipt("root").unfinished, [crate::support::path("root.sub-1")]);
}

fn refused(message: &str) -> adjutant_core::ModelError {
    adjutant_core::ModelError::new(adjutant_core::Trouble::Refused, message)
}

#[tokio::test(start_paused = true)]
async fn every_call_has_one_result_whatever_it_was() {
    let script = Script::new().on(
        "root",
        [
            Reply::calls([
                call("c1", "no_such_tool", json!({})),
                call("c2", "read_file", json!({ "path": "Cargo.toml", "colour": "red" })),
                call("c3", "read_file", json!("{\"path\": \"Cargo.toml\", \"limit\": \"1\",}")),
                call("c4", "read_file", json!("not json")),
            ]),
            Reply::text("done"),
        ],
    );
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert_eq!(results.len(), 4);
    assert!(results[0].contains("there is no tool named `no_such_tool`"), "{results:?}");
    assert!(results[1].contains("colour"), "{results:?}");
    assert!(results[2].contains("[package]"), "{results:?}");
    assert!(results[3].contains("not JSON"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn the_events_fold_to_the_tree_that_was() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("up")])
        .on("root.sub-1", [Reply::calls([sub("c2", "leaf")]), Reply::text("through")])
        .on_task("leaf", [Reply::text("down")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let folded = Folded::fold(tree.seen.iter().map(|event| &**event));
    let paths: Vec<_> = folded.nodes().iter().map(|node| node.path.as_str()).collect();
    assert_eq!(paths, ["root", "root.sub-1", "root.sub-1.sub-1"]);
    let calls: Vec<_> = folded.nodes().iter().map(|node| node.call.as_deref()).collect();
    assert_eq!(calls, [None, Some("c1"), Some("c2")]);
    let kept = tree.seen.iter().filter(|event| event.kind.is_kept()).map(|event| event.seq);
    assert!(kept.eq(1..=folded.seq()), "positions have no gaps");
    let total: u64 = folded.nodes().iter().map(|node| node.usage.total()).sum();
    assert_eq!(tree.receipt("root").tokens, total, "spending below counts above");
}

#[tokio::test(start_paused = true)]
async fn the_intent_is_recorded_before_the_act() {
    let script = Script::new().on("root", [Reply::calls([sub("c1", "leaf")]), Reply::text("done")]);
    let script = script.on_task("leaf", [Reply::text("x")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let called = tree.position("root", |kind| matches!(kind, EventKind::Called { .. }));
    let started = tree.position("root.sub-1", is_started);
    assert!(called < started && started < tree.position("root", has_result("c1")));
}

#[tokio::test(start_paused = true)]
async fn going_round_in_circles_is_noticed() {
    let same = || Reply::calls([call("c1", "list_dir", json!({}))]);
    let script = Script::new().on("root", [same(), same(), same(), same(), Reply::text("never")]);
    let mut tree = Plan::new(script).begin("go").await;
    let outcome = tree.end().await;
    assert_eq!(outcome.ending, Ending::Failed);
    assert!(outcome.reason.unwrap().contains("4 times in a row"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_siblings_begin_in_the_order_of_their_calls_and_all_end() {
    const CALLS: usize = 1000;
    let calls = (1..=CALLS).map(|n| sub(&format!("c{n}"), &format!("task {n}")));
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done")])
        .on("root.*", [Reply::text("ok")]);
    let plan = Plan::new(script).settings(|settings| {
        settings.max_children_per_agent = CALLS;
        settings.max_concurrent_agents = CALLS;
    });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let is_well = |text: &String| text.starts_with("ok\n");
    assert_eq!(tree.results("root").iter().filter(|text| is_well(text)).count(), CALLS);
    let started = tree.seen.iter().filter(|event| is_started(&event.kind));
    let calls: Vec<_> = started.filter_map(|event| event.call.as_deref()).collect();
    assert_eq!(calls, (1..=CALLS).map(|n| format!("c{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn the_same_call_with_other_results_is_no_circle() {
    let ticks = AtomicUsize::new(0);
    let clock = Does::new("clock", Effect::Read, move |_| {
        let tick = ticks.fetch_add(1, SeqCst);
        Box::pin(async move { Ok(format!("tick {tick}")) })
    });
    let same = || Reply::calls([call("c1", "clock", json!({}))]);
    let script = Script::new().on("root", (0..5).map(|_| same()));
    let mut tree =
        Plan::new(script.on("root", [Reply::text("done")])).tool(clock).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
}

/// A tool that cannot even say what a call is about.
struct Clumsy(Arc<ToolSpec>);

impl Tool for Clumsy {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn summary(&self, _: &Value) -> String {
        panic!("no words")
    }

    fn call<'a>(&'a self, _: Value, _: &'a dyn Host) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async { Ok("ran".to_owned()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_before_it_runs_is_an_error_and_not_a_dead_agent() {
    let clumsy = Clumsy(Does::new("clumsy", Effect::Read, |_| unreachable!()).spec());
    let calls = Reply::calls([call("c1", "clumsy", json!({}))]);
    let script = Script::new().on("root", [calls, Reply::text("survived")]);
    let mut tree = Plan::new(script).tool(clumsy).begin("go").await;
    assert_eq!(tree.end().await.text, "survived");
    assert_eq!(tree.results("root"), ["the tool broke: no words"]);
}

#[tokio::test(start_paused = true)]
async fn silence_does_not_take_back_what_was_said() {
    let finds = Reply::calls([call("l", "list_dir", json!({}))]).saying("what I found");
    let script = Script::new().on("root", [finds, Reply::text("")]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "what I found");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_off_is_not_run() {
    let half = call("r", "read_file", json!("{\"path\": \"Cargo.toml\"}"));
    let cut = Reply::calls([half]).stopped(StopReason::Length);
    let mut tree =
        Plan::new(Script::new().on("root", [cut, Reply::text("done")])).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].starts_with("not run: the call was cut off"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_long_is_cut_and_says_so() {
    let long = Does::new("long", Effect::Read, |_| Box::pin(async { Ok("x".repeat(300 * 1024)) }));
    let calls = Reply::calls([call("c1", "long", json!({}))]);
    let script = Script::new().on("root", [calls, Reply::text("done")]);
    let mut tree = Plan::new(script).tool(long).begin("go").await;
    tree.end().await;
    let result = tree.results("root").remove(0);
    assert!(result.ends_with("x\n[45056 bytes left out: ask for less at a time]"));
    assert!(result.len() < 257 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_root() {
    let plan = Plan::new(Script::new().on("root", [Reply::text("done")]));
    let again = plan.root();
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.session.begin(again, "go".to_owned()).await, Err(Refusal::Begun));
    tree.end().await;
    assert_eq!(tree.seen.iter().filter(|event| is_started(&event.kind)).count(), 1);
}
