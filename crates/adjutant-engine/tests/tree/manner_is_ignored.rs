//! An agent works as it was ordered to: with its own words, patience and place, and calls others
//! as it may.

use std::{path::PathBuf, time::Duration};

use adjutant_core::{
    Backoff, Calls, Effect, Effort, EventKind, Manner, ModelError, Order, Retry, Trouble,
};
use adjutant_models::script::Script;
use serde_json::{Number, json};

use crate::support::{
    Does, Plan, Reply, Tree, call, count, delegation, is_finished, is_started, path, sub,
};

/// A tool that starts a child as ordered, and waits for it.
fn hires(order: Order) -> Does {
    Does::new("hires", Effect::Delegate, move |host| {
        let order = Order { name: "hand".to_owned(), task: "x".to_owned(), ..order.clone() };
        Box::pin(async {
            let engine = delegation(host)?;
            let id = engine.start(order).await?.id;
            Ok(engine.wait(&id.to_string()).await?.outcome.text.clone())
        })
    })
}

fn hire() -> adjutant_models::script::Call {
    call("h", "hires", json!({}))
}

/// Has a root hire a hand.
async fn hired(order: Order, hand: impl IntoIterator<Item = Reply>) -> Tree {
    let script = Script::new()
        .on("root", [Reply::calls([hire()]), Reply::text("done")])
        .on("root.hand-1", hand)
        .on("root.hand-1.sub-1", [Reply::text("below")])
        .recording();
    let mut tree = Plan::new(script).tool(hires(order)).begin("go").await;
    tree.end().await;
    tree
}

#[tokio::test(start_paused = true)]
async fn a_model_is_told_how_to_answer_this_agent_and_no_other() {
    let manner = Manner {
        temperature: Some(Number::from(0)),
        top_p: Number::from_f64(0.5),
        effort: Some(Effort::High),
        max_output: count(77),
        ..Manner::default()
    };
    let order = Order { manner: manner.clone(), ..Order::default() };
    let tree = hired(order, [Reply::calls([sub("s", "y")]), Reply::text("ok")]).await;
    assert_eq!(tree.model.requests().len(), 5);
    for request in tree.model.requests() {
        let is_hand = request.agent == path("root.hand-1");
        assert_eq!(request.manner == manner, is_hand, "{request:?}");
        assert_eq!(request.max_output == 77, is_hand, "{request:?}");
    }
    let least = Manner { max_output: count(u64::MAX), ..Manner::default() };
    let tree = hired(Order { manner: least, ..Order::default() }, [Reply::text("ok")]).await;
    let all: Vec<_> = tree.model.requests().iter().map(|request| request.max_output).collect();
    assert_eq!(all[0], all[1], "the model's own limit holds");
}

#[tokio::test(start_paused = true)]
async fn an_agent_tries_again_as_it_was_ordered_to() {
    let retry = Retry {
        attempts: 3,
        base: Duration::from_secs(10),
        cap: Duration::from_secs(600),
        backoff: Backoff::Linear,
    };
    let manner = Manner { retry: Some(retry), ..Manner::default() };
    let broken = || Reply::error(ModelError::new(Trouble::Unreached, "no"));
    let hand = [broken(), broken(), broken(), Reply::text("never said")];
    let tree = hired(Order { manner, ..Order::default() }, hand).await;
    let waits = tree.at("root.hand-1").filter_map(|kind| match kind {
        EventKind::Retrying { wait_ms, .. } => Some(*wait_ms),
        _ => None,
    });
    let waits: Vec<_> = waits.collect();
    assert!(matches!(waits[..], [5000..=10_000, 10_000..=20_000]), "{waits:?}");
    assert!(tree.results("root")[0].is_empty(), "{:?}", tree.results("root"));
}

fn one_by_one() -> Manner {
    Manner { calls: Calls::OneByOne, ..Manner::default() }
}

/// Returns whether the second child of an agent began after the first had ended.
fn came_after(tree: &Tree, parent: &str) -> bool {
    let child = |number| format!("{parent}.sub-{number}");
    tree.position(&child(2), is_started) > tree.position(&child(1), is_finished)
}

#[tokio::test(start_paused = true)]
async fn agents_are_called_one_by_one_where_that_is_ordered() {
    for (manner, expected) in [(Manner::default(), false), (one_by_one(), true)] {
        let slow = || Reply::text("a b").word_by_word(Duration::from_secs(1));
        let script = Script::new()
            .on("root", [Reply::calls([sub("1", "x"), sub("2", "y")]), Reply::text("done")])
            .on("root.sub-1", [Reply::calls([sub("1", "v"), sub("2", "w")]), slow()])
            .on("root.*", [slow()]);
        let mut tree = Plan::new(script).manner(manner).begin("go").await;
        tree.end().await;
        assert_eq!(came_after(&tree, "root"), expected);
        assert_eq!(came_after(&tree, "root.sub-1"), expected, "it holds at every level");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_calls_one_by_one_still_looks_at_all_at_once() {
    let times = std::sync::Arc::<std::sync::Mutex<Vec<_>>>::default();
    let noted = std::sync::Arc::clone(&times);
    let looks = Does::new("looks", Effect::Read, move |_| {
        noted.lock().unwrap().push(tokio::time::Instant::now());
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(String::new())
        })
    });
    let look = |id| call(id, "looks", json!({}));
    let script = Script::new().on("root", [Reply::calls([look("1"), look("2")])]);
    let script = script.on("root", [Reply::text("done")]);
    let mut tree = Plan::new(script).manner(one_by_one()).tool(looks).begin("go").await;
    tree.end().await;
    let times = times.lock().unwrap();
    assert_eq!(times[0], times[1]);
}

fn workdir(directory: impl Into<PathBuf>) -> Order {
    Order { workdir: Some(directory.into()), ..Order::default() }
}

#[tokio::test(start_paused = true)]
async fn a_child_works_where_it_is_ordered_to_if_its_parent_reaches_so_far() {
    let inside = std::env::current_dir().unwrap().join("src");
    let tree = hired(workdir(&inside), [Reply::text("ok")]).await;
    let place = tree.at("root.hand-1").find_map(|kind| match kind {
        EventKind::Started { workdir, .. } => workdir.clone(),
        _ => None,
    });
    assert_eq!(place.as_deref(), inside.to_str());
    for outside in ["/etc", "/"] {
        let tree = hired(workdir(outside), []).await;
        let refused = &tree.results("root")[0];
        assert!(refused.contains("is outside your scope"), "{refused}");
    }
}
