//! Cancelled means contained: what a call started is gone before `Finished`, or the
//! receipt says what is not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use adjutant_core::{Command, Effect, Ending, EventKind, Held, ModelError, Order, Trouble};
use adjutant_models::script::Script;
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Does, Plan, Reply, Tree, call, delegation, holds, is_finished, sub};

/// Something that takes a while to end.
struct Slow {
    running: Arc<AtomicUsize>,
    takes: Duration,
}

impl Held for Slow {
    fn what(&self) -> String {
        "slow thing".to_owned()
    }

    fn is_over(&mut self) -> bool {
        false
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            self.running.fetch_sub(1, SeqCst);
            Ok(())
        })
    }
}

/// A tool that starts something and never returns, deaf to its token.
fn deaf(running: &Arc<AtomicUsize>, takes: Duration) -> Does {
    let running = Arc::clone(running);
    Does::new("deaf", Effect::Read, move |host| {
        running.fetch_add(1, SeqCst);
        host.hold(Box::new(Slow { running: Arc::clone(&running), takes }));
        Box::pin(std::future::pending())
    })
}

/// Every level starts something; the upper two also delegate.
fn three_levels() -> Script {
    let deaf = || call("d", "deaf", json!({}));
    Script::new()
        .on("root", [Reply::calls([deaf(), sub("c1", "middle")])])
        .on("root.sub-1", [Reply::calls([deaf(), sub("c2", "leaf")])])
        .on_task("leaf", [Reply::calls([deaf()])])
}

async fn stopped(takes: Duration) -> (Tree, Vec<usize>) {
    let running = Arc::new(AtomicUsize::new(0));
    let mut tree = Plan::new(three_levels()).tool(deaf(&running, takes)).begin("go").await;
    let is_deaf =
        |kind: &EventKind| matches!(kind, EventKind::Called { tool, .. } if tool == "deaf");
    tree.until_at("root.sub-1.sub-1", is_deaf).await;
    tree.send("root", Command::Cancel).await;
    let mut left = Vec::new();
    for path in ["root.sub-1.sub-1", "root.sub-1", "root"] {
        tree.until_at(path, is_finished).await;
        left.push(running.load(SeqCst));
    }
    (tree, left)
}

#[tokio::test(start_paused = true)]
async fn what_each_level_started_is_gone_before_it_is_said_to_be_finished() {
    let (tree, left) = stopped(Duration::from_secs(3)).await;
    assert!(left[0] <= 2 && left[1] <= 1 && left[2] == 0, "{left:?}");
    for path in ["root", "root.sub-1", "root.sub-1.sub-1"] {
        assert_eq!(tree.outcome(path).ending, Ending::Cancelled);
        assert!(tree.receipt(path).uncontained.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_will_not_end_is_named() {
    let (tree, _) = stopped(Duration::from_secs(600)).await;
    for path in ["root", "root.sub-1", "root.sub-1.sub-1"] {
        assert_eq!(tree.receipt(path).uncontained, ["slow thing: still there after 10s"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_call_still_has_a_result() {
    let (tree, _) = stopped(Duration::from_secs(1)).await;
    let results = tree.results("root.sub-1.sub-1");
    assert_eq!(results, ["stopped before it had ended; what it did is not known"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_ended_is_named_and_hangs_nobody() {
    let refuses = holds(|| async { Err("it will not".to_owned()) }.boxed());
    let breaks = holds(|| panic!("boom"));
    for (tool, named) in [(refuses, "thing: it will not"), (breaks, "thing: boom")] {
        let script = Script::new()
            .on("root", [Reply::calls([sub("c1", "hold")]), Reply::text("done")])
            .on_task("hold", [Reply::calls([call("h", "holds", json!({}))]), Reply::text("ok")]);
        let mut tree = Plan::new(script).tool(tool).begin("go").await;
        tree.end().await;
        assert_eq!(tree.receipt("root.sub-1").uncontained, [named]);
    }
}

/// Stops a root while a call of it runs, and returns the results of its calls.
async fn stopped_in(tool: Does, others: impl IntoIterator<Item = Does>) -> Vec<String> {
    let others: Vec<_> = others.into_iter().collect();
    let calls = (0..=others.len()).map(|n| call(&n.to_string(), &format!("tool{n}"), json!({})));
    let script = Script::new().on("root", [Reply::calls(calls)]);
    let plan = Plan::new(script).settings(|settings| settings.max_concurrent_ops = 1).tool(tool);
    let mut tree = others.into_iter().fold(plan, Plan::tool).begin("go").await;
    tree.until_at("root", |kind| matches!(kind, EventKind::Called { .. })).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.ending, Ending::Cancelled);
    tree.results("root")
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_soon_after_it_was_told_keeps_its_result() {
    let polite = Does::new("tool0", Effect::Read, |host| {
        Box::pin(async {
            host.token().cancelled().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok("half of it".to_owned())
        })
    });
    assert_eq!(stopped_in(polite, []).await, ["half of it"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_place_does_not_begin_after_the_end() {
    let polite = Does::new("tool0", Effect::Read, |host| {
        Box::pin(async {
            host.token().cancelled().await;
            Ok("left".to_owned())
        })
    });
    let acts = Does::new("tool1", Effect::Write, |_| Box::pin(async { Ok("acted".to_owned()) }));
    let results = stopped_in(polite, [acts]).await;
    assert_eq!(results, ["left", "not run: stopped before it began"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_started_by_one_who_is_being_stopped() {
    let late = Does::new("tool0", Effect::Delegate, |host| {
        Box::pin(async {
            host.token().cancelled().await;
            let order = Order { name: "late".to_owned(), task: "x".to_owned(), ..Order::default() };
            delegation(host)?.start(order).await.map(|started| started.path.to_string())?;
            Ok("started".to_owned())
        })
    });
    assert_eq!(stopped_in(late, []).await, ["you are being stopped"]);
}

#[tokio::test(start_paused = true)]
async fn the_pause_before_another_try_is_not_waited_for() {
    let busy = ModelError::new(Trouble::Busy, "too many requests");
    let busy = ModelError { retry_after: Some(Duration::from_secs(42)), ..busy };
    let mut tree = Plan::new(Script::new().on("root", [Reply::error(busy)])).begin("go").await;
    tree.until_at("root", |kind| matches!(kind, EventKind::Retrying { .. })).await;
    let start = Instant::now();
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.ending, Ending::Cancelled);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}
