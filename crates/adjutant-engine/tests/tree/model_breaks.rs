//! A model that fails is asked again, as long as that makes sense.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    Cause, Delta, Effect, Ending, EventKind, ModelError, Part, StopReason, ToolCall, Trouble, Usage,
};
use adjutant_models::script::Script;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Does, Plan, Reply, Talks, Tree, call, has_result, is_finished, sub};

fn busy(after: Option<Duration>) -> Reply {
    let error = ModelError::new(Trouble::Busy, "too many requests");
    Reply::error(ModelError { retry_after: after, ..error })
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_given_the_time_it_asks_for() {
    let pause = Duration::from_secs(42);
    let script = Script::new().on("root", [busy(Some(pause)), Reply::text("here I am")]);
    let start = Instant::now();
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "here I am");
    assert!(start.elapsed() >= pause && start.elapsed() < 2 * pause, "{:?}", start.elapsed());
    let retries = tree.at("root").filter_map(|kind| match kind {
        EventKind::Retrying { attempt, reason, .. } => Some((*attempt, reason.clone())),
        _ => None,
    });
    assert_eq!(
        retries.collect::<Vec<_>>(),
        [(2, "the model failed: too many requests".to_owned())]
    );
}

#[tokio::test(start_paused = true)]
async fn what_one_agent_is_told_slows_all_that_ask_the_same_provider() {
    let pause = Duration::from_secs(42);
    let elsewhere = call("c3", "sub_agent", json!({ "prompt": "abroad", "model": "made/up" }));
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([sub("c1", "first"), sub("c2", "second"), elsewhere]),
                Reply::text("done"),
            ],
        )
        .on_task("first", [busy(Some(pause)), Reply::text("at last")])
        .on_task("second", [Reply::calls([call("w", "works", json!({}))]), Reply::text("second")]);
    let start = Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&times);
    let works = Does::new("works", Effect::Read, move |_| {
        let kept = Arc::clone(&kept);
        Box::pin(async move {
            kept.lock().unwrap().push(start.elapsed());
            Ok(String::new())
        })
    });
    let abroad = Talks::new(|_| {
        let said = Delta::Part(Part::text("abroad"));
        stream::iter([said, Delta::Stop(StopReason::Done)].map(Ok)).boxed()
    });
    let mut tree = Plan::new(script).tool(works).model("made/up", abroad).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let times = times.lock().unwrap().clone();
    assert!(times[0] >= pause && times[0] < 2 * pause, "{times:?}");
    let ended = |at| tree.position(at, is_finished);
    assert!(ended("root.sub-3") < tree.position("root.sub-2", has_result("w")));
    let retries = tree.at("root.sub-2").filter(|kind| matches!(kind, EventKind::Retrying { .. }));
    assert_eq!(retries.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn children_are_tried_again_like_the_root() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "work")]), Reply::text("done")])
        .on_task("work", [busy(None), busy(None), Reply::text("worked")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    assert_eq!(tree.outcome("root.sub-1").text, "worked");
}

#[tokio::test(start_paused = true)]
async fn there_is_an_end_to_trying() {
    let script = Script::new().on("root", (0..9).map(|_| busy(None)));
    let mut tree = Plan::new(script).begin("go").await;
    let outcome = tree.end().await;
    assert_eq!((outcome.ending, outcome.cause), (Ending::Failed, Some(Cause::Model)));
    let retries = tree.at("root").filter(|kind| matches!(kind, EventKind::Retrying { .. }));
    assert_eq!(retries.count(), 4);
    assert_eq!(tree.receipt("root").tokens, 0, "what was turned away costs nothing");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_not_tried_again() {
    for trouble in [Trouble::Unauthorized, Trouble::NotFound, Trouble::Refused, Trouble::TooLong] {
        let script = Script::new().on("root", [Reply::error(ModelError::new(trouble, "no"))]);
        let mut tree = Plan::new(script).begin("go").await;
        assert_eq!(tree.end().await.cause, Some(Cause::Model));
        assert!(!tree.at("root").any(|kind| matches!(kind, EventKind::Retrying { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_falls_silent_is_noticed() {
    let script = Script::new().on("root", [Reply::hang(), Reply::text("awake")]);
    let start = Instant::now();
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "awake");
    assert!(start.elapsed() >= Duration::from_secs(300));
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_that_speaks_is_left_alone() {
    let slow = Reply::text("one word every four minutes").word_by_word(Duration::from_secs(240));
    let mut tree = Plan::new(Script::new().on("root", [slow])).begin("go").await;
    assert_eq!(tree.end().await.text, "one word every four minutes");
}

#[tokio::test(start_paused = true)]
async fn a_broken_answer_is_paid_for_and_asked_again() {
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    let broken = Reply::text("this will not be finished").cut_after(2).using(usage);
    let whole = Reply::text("whole").using(Usage { input: 100, output: 5, ..Usage::default() });
    let mut tree = Plan::new(Script::new().on("root", [broken, whole])).begin("go").await;
    assert_eq!(tree.end().await.text, "whole");
    assert_eq!(spent(&tree), [(110, false), (105, false)]);
    assert_eq!(tree.receipt("root").tokens, 215);
}

#[tokio::test(start_paused = true)]
async fn a_missing_model_is_refused_with_those_there_are() {
    let order = json!({ "prompt": "x", "model": "made/up" });
    let calls = Reply::calls([call("c1", "sub_agent", order)]);
    let mut tree =
        Plan::new(Script::new().on("root", [calls, Reply::text("done")])).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].contains("made/up") && results[0].contains("rehearsal"), "{results:?}");
}

/// Returns what was paid for, and whether it was guessed.
fn spent(tree: &Tree) -> Vec<(u64, bool)> {
    let spent = tree.seen.iter().filter_map(|event| match event.kind {
        EventKind::Spent { usage, estimated, .. } => Some((usage.total(), estimated)),
        _ => None,
    });
    spent.collect()
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_busy_in_mid_answer_is_paid_for_what_it_said() {
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    let busy = busy(None).saying("half of it").using(usage);
    let whole = Reply::text("whole").using(Usage { input: 100, output: 5, ..Usage::default() });
    let mut tree = Plan::new(Script::new().on("root", [busy, whole])).begin("go").await;
    tree.end().await;
    assert_eq!(tree.receipt("root").tokens, 215);
}

#[tokio::test(start_paused = true)]
async fn what_a_broken_call_did_not_report_is_guessed() {
    let words = || Reply::text("twelve bytes and then nothing").cut_after(2);
    let reported = Usage { input: 100, output: 1, ..Usage::default() };
    let whole = Reply::text("whole").using(reported);
    let script = Script::new().on("root", [words(), words().using(reported), whole]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let calls = tree.at("root").filter_map(|kind| match kind {
        EventKind::Spent { usage, estimated, .. } => Some((*usage, *estimated)),
        _ => None,
    });
    let [(guess, true), (corrected, false), (exact, false)] = calls.collect::<Vec<_>>()[..] else {
        panic!("{:#?}", tree.seen)
    };
    assert!(guess.input > 100, "all it was sent: {guess:?}");
    // Thirteen bytes were heard, of three and a half a token.
    assert_eq!((guess.output, corrected.output), (4, 4));
    assert_eq!((corrected.input, exact), (100, reported));
    let total: u64 = spent(&tree).iter().map(|(tokens, _)| tokens).sum();
    assert_eq!(tree.receipt("root").tokens, total);
}

/// Has a child run on a model of ours.
fn on(model: Talks) -> Plan {
    let order = json!({ "prompt": "x", "model": "ours" });
    let calls = Reply::calls([call("c1", "sub_agent", order)]);
    Plan::new(Script::new().on("root", [calls, Reply::text("done")])).model("ours", model)
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_reports_nothing_is_paid_by_estimate() {
    let model = Talks::new(|_| {
        let said = Delta::Part(Part::text("thirty-four bytes and sixteen more"));
        stream::iter([said, Delta::Stop(StopReason::Done)].map(Ok)).boxed()
    });
    let mut tree = on(model).begin("go").await;
    tree.end().await;
    let receipt = tree.receipt("root.sub-1");
    assert_eq!(receipt.usage.output, 15, "{receipt:?}");
    assert!(receipt.usage.input > 100 && spent(&tree)[1].1, "{receipt:?}");
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_panics_costs_the_agent_but_not_its_words() {
    let model = Talks::new(|request| {
        assert_eq!(request.turn, 1, "no more turns");
        let arguments = json!({ "path": "src" });
        let (id, name) = ("l".into(), "list_dir".to_owned());
        let list = Part::Call(ToolCall { id, name, arguments, native: None });
        let said = [Part::text("what I found"), list].map(Delta::Part);
        stream::iter(said.into_iter().chain([Delta::Stop(StopReason::Calls)]).map(Ok)).boxed()
    });
    let mut tree = on(model).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let outcome = tree.outcome("root.sub-1");
    assert_eq!((outcome.cause, &*outcome.text), (Some(Cause::Model), "what I found"));
    let total: u64 = spent(&tree).iter().map(|(tokens, _)| tokens).sum();
    assert_eq!(tree.receipt("root").tokens, total);
}
