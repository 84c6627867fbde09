//! Cancelled means contained: what a call started is gone before `Finished`, or the
//! receipt says what is not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use adjutant_core::{Command, Effect, Ending, EventKind, Held};
use adjutant_models::script::Script;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Does, Plan, Reply, Tree, call, is_finished, sub};

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
