//! The end of a background child is told to its parent once; what is said to an agent
//! is heard.

use std::time::Duration;

use adjutant_core::{Command, EventKind, Message, Origin};
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{Plan, Reply, call, path, spawn};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_idle_parent_is_woken_by_the_end_of_a_child() {
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([spawn("c1", "slow"), spawn("c2", "slower")]),
                Reply::text("waiting"),
                Reply::text("one is in"),
                Reply::text("both are in"),
            ],
        )
        .on_task("slower", [Reply::text("second result").after(60 * SECOND)])
        .on_task("slow", [Reply::text("first result").after(30 * SECOND)]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "both are in");
    let heard = tree.heard("root");
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard[1].contains("first result") && heard[1].contains("root.agent-1"), "{heard:?}");
    assert!(heard[2].contains("second result") && !heard[2].contains("first"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn ends_at_the_same_boundary_make_one_message() {
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([spawn("c1", "a"), spawn("c2", "b")]),
                Reply::text("thinking").after(60 * SECOND),
                Reply::text("done"),
            ],
        )
        .on("root.agent-*", [Reply::text("result")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let ended: Vec<_> = tree.at("root").filter_map(ended).collect();
    assert_eq!(ended, [vec![path("root.agent-1"), path("root.agent-2")]]);
}

fn ended(kind: &EventKind) -> Option<Vec<adjutant_core::AgentPath>> {
    let EventKind::Said { message } = kind else { return None };
    match &**message {
        Message::User { origin: Origin::Runtime { ended }, .. } => Some(ended.clone()),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_asked_for_is_not_told_again() {
    let status = call("s", "agent_status", json!({ "agent_id": "root.agent-1" }));
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([spawn("c1", "quick")]),
                Reply::calls([status]).after(SECOND),
                Reply::text("done"),
            ],
        )
        .on_task("quick", [Reply::text("the result").after(SECOND / 2)]);
    // The letter is there before the status is asked for, but heard only at the next boundary.
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let results = tree.results("root");
    assert!(results[1].contains("the result"), "{results:?}");
    assert!(results[1].contains(r#""is_final":true"#), "{results:?}");
    assert_eq!(tree.at("root").filter_map(ended).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn steering_is_heard_at_the_next_turn_and_the_rest_when_idle() {
    let slow = || Reply::calls([call("l", "list_dir", json!({}))]).after(10 * SECOND);
    let script = Script::new().on(
        "root",
        [slow(), slow().saying("again"), Reply::text("first done"), Reply::text("all done")],
    );
    let mut tree = Plan::new(script).begin("go").await;
    tree.until_at("root", crate::support::is_started).await;
    tree.send("root", Command::Say { text: "later".to_owned() }).await;
    tree.send("root", Command::Steer { text: "now".to_owned() }).await;
    assert_eq!(tree.end().await.text, "all done");
    assert_eq!(tree.heard("root"), ["go", "now", "later"]);
    let mailed = tree.at("root").filter(|kind| matches!(kind, EventKind::Mailed { .. }));
    assert_eq!(mailed.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_resting_root_goes_on_when_told() {
    let script = Script::new().on("root", [Reply::text("one"), Reply::text("two")]);
    let mut tree = Plan::new(script).staying().begin("go").await;
    tree.until_at("root", |kind| *kind == EventKind::Rested).await;
    tree.send("root", Command::Say { text: "more".to_owned() }).await;
    tree.until_at("root", |kind| *kind == EventKind::Rested).await;
    assert_eq!(tree.heard("root"), ["go", "more"]);
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.text, "two");
    let gone = tree.session.send(&path("root"), Command::Say { text: "x".to_owned() }).await;
    assert_eq!(gone.unwrap_err().to_string(), "`root` has ended (cancelled)");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_is_gone_when_the_call_returns() {
    let cancel = call("x", "agent_cancel", json!({ "agent_id": "root.agent-1" }));
    let script = Script::new()
        .on(
            "root",
            [Reply::calls([spawn("c1", "endless")]), Reply::calls([cancel]), Reply::text("done")],
        )
        .on_task("endless", [Reply::hang()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[1].contains(r#""success":true"#), "{results:?}");
    let is_result = |kind: &EventKind| matches!(kind, EventKind::Said { message } if matches!(&**message, Message::Tools { results } if &*results[0].call == "x"));
    let gone = tree.position("root.agent-1", crate::support::is_finished);
    assert!(gone < tree.position("root", is_result));
    assert_eq!(tree.at("root").filter_map(ended).count(), 0, "it is not told again");
}
