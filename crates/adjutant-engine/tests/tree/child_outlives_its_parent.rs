//! Nobody outlives their parent, late children included.

use std::{sync::Arc, time::Duration};

use adjutant_core::{Command, Ending};
use adjutant_models::script::Script;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Plan, Reply, call, is_finished, is_started, spawn, sub};

fn three_levels() -> Script {
    Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")])])
        .on("root.sub-1", [Reply::calls([sub("c2", "leaf")])])
        .on_task("leaf", [Reply::hang().saying("so far")])
}

#[tokio::test(start_paused = true)]
async fn stopping_the_root_stops_everyone_from_the_bottom_up() {
    let mut tree = Plan::new(three_levels()).begin("go").await;
    tree.until_at("root.sub-1.sub-1", is_started).await;
    tree.send("root", Command::Cancel).await;
    tree.end().await;
    let paths = ["root", "root.sub-1", "root.sub-1.sub-1"];
    for path in paths {
        assert_eq!(tree.outcome(path).ending, Ending::Cancelled, "{path}");
    }
    let ends = paths.map(|path| tree.position(path, is_finished));
    assert!(ends[0] > ends[1] && ends[1] > ends[2], "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn partial_output_is_kept() {
    let mut tree = Plan::new(three_levels()).begin("go").await;
    tree.until_at("root.sub-1.sub-1", |kind| !kind.is_kept()).await;
    tree.send("root.sub-1.sub-1", Command::Cancel).await;
    tree.until_at("root.sub-1.sub-1", is_finished).await;
    assert_eq!(tree.outcome("root.sub-1.sub-1").text, "so far");
}

#[tokio::test(start_paused = true)]
async fn stopping_a_branch_leaves_the_others() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "hang"), sub("c2", "work")]), Reply::text("done")])
        .on_task("hang", [Reply::hang()])
        .on_task("work", [Reply::text("worked").after(std::time::Duration::from_secs(60))]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.until_at("root.sub-2", is_started).await;
    tree.send("root.sub-1", Command::Cancel).await;
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(tree.outcome("root.sub-1").ending, Ending::Cancelled);
    assert_eq!(tree.outcome("root.sub-2").ending, Ending::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_background_child_ends_with_a_parent_that_fails() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([spawn("c2", "leaf")])])
        .on_task("leaf", [Reply::hang()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    assert_eq!(tree.outcome("root.sub-1").ending, Ending::Failed, "the script is over");
    assert_eq!(tree.outcome("root.sub-1.agent-1").ending, Ending::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_children_of_one_that_goes_on_have_names_of_their_own() {
    let again = json!({ "agent_id": "root.sub-1", "message": "again" });
    let script = Script::new()
        .on(
            "root",
            [Reply::calls([sub("c1", "x")]), Reply::calls([call("c2", "agent_send", again)])],
        )
        .on("root", [Reply::text("waiting"), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([sub("d1", "leaf")]), Reply::text("one")])
        .on("root.sub-1", [Reply::calls([sub("d2", "another leaf")]), Reply::text("two")])
        .on("root.sub-1.*", [Reply::text("leaf").always()]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    for leaf in ["root.sub-1.sub-1", "root.sub-1.sub-2"] {
        assert_eq!(tree.at(leaf).filter(|kind| is_started(kind)).count(), 1, "{leaf}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_session_that_nobody_holds() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "x"), spawn("c2", "x")])])
        .on("root", [Reply::text("done"), Reply::text("done")])
        .on("root.*", [Reply::text("ok").always()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let journal = Arc::downgrade(&tree.journal);
    drop(tree);
    // Whoever is about to leave does.
    sleep(Duration::from_secs(60)).await;
    assert_eq!(journal.strong_count(), 0);
}
