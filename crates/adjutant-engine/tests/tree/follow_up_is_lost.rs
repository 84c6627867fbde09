//! A child that has ended goes on when its parent tells it more, as the one it was.

use std::{sync::Arc, time::Duration};

use adjutant_core::{Context, Ending, EventKind, State, Tree as Fold};
use adjutant_models::script::{Call, Script};
use serde_json::{Value, json};

use crate::support::{Plan, Reply, Tree, call, is_finished, is_started, path, spawn, told};

const SECOND: Duration = Duration::from_secs(1);

fn send(id: &str, to: &str, message: &str) -> Call {
    call(id, "agent_send", json!({ "agent_id": to, "message": message }))
}

/// A root whose child has ended and is told more.
fn script(child: [Reply; 2]) -> Script {
    Script::new()
        .on("root", [Reply::calls([spawn("s", "count the apples")]), Reply::text("waiting")])
        .on("root", [Reply::calls([send("f", "root.agent-1", "and the pears?")])])
        .on("root", [Reply::text("waiting again"), Reply::text("done")])
        .on("root.agent-1", child)
        .recording()
}

fn answer(tree: &Tree, place: usize) -> Value {
    serde_json::from_str(&tree.results("root")[place]).unwrap()
}

fn ids(tree: &Tree, at: &str) -> Vec<String> {
    let events = tree.seen.iter().filter(|event| event.path == path(at));
    events.filter(|event| is_started(&event.kind)).map(|event| event.id.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_finished_child_goes_on_with_its_history_under_its_own_id() {
    let replies = [Reply::text("three apples"), Reply::text("four pears")];
    let mut tree = Plan::new(script(replies)).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let sent = answer(&tree, 1);
    assert_eq!((&sent["success"], &sent["previous_state"]), (&json!(true), &json!("completed")));
    let ids = ids(&tree, "root.agent-1");
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]), "it starts twice and is one");
    let requests = tree.model.requests();
    let child: Vec<_> = requests.iter().filter(|it| it.agent == path("root.agent-1")).collect();
    let texts: Vec<_> = child[1].messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["count the apples", "three apples", "and the pears?"]);
    assert!(Arc::ptr_eq(&child[0].messages[0], &child[1].messages[0]));
    assert_eq!((&child[0].system, &child[0].tools), (&child[1].system, &child[1].tools));
    let again = tree.at("root.agent-1").filter_map(|kind| match kind {
        EventKind::Started { order, inherited, .. } => Some((order.context, *inherited)),
        _ => None,
    });
    assert_eq!(again.collect::<Vec<_>>(), [(Context::Fresh, 0), (Context::Own, 2)]);
}

#[tokio::test(start_paused = true)]
async fn each_result_of_a_child_that_went_on_is_told_once() {
    let replies = [Reply::text("three apples"), Reply::text("four pears").after(SECOND)];
    let mut tree = Plan::new(script(replies)).begin("go").await;
    tree.end().await;
    let news: Vec<_> = tree.heard("root").into_iter().skip(1).collect();
    assert_eq!(news.len(), 2, "{news:?}");
    assert!(news[0].contains("three apples") && !news[0].contains("pears"), "{news:?}");
    assert!(news[1].contains("four pears") && !news[1].contains("apples"), "{news:?}");
    let told: Vec<_> = tree.at("root").flat_map(told).collect();
    assert_eq!(told, [&path("root.agent-1"), &path("root.agent-1")]);
    assert_eq!(tree.at("root.agent-1").filter(|kind| is_finished(kind)).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_journal_folds_to_one_agent_that_spent_both_times() {
    let replies = [Reply::text("three apples"), Reply::text("four pears")];
    let mut tree = Plan::new(script(replies)).begin("go").await;
    tree.end().await;
    let fold = Fold::fold(tree.seen.iter().map(|event| &**event));
    assert_eq!(fold.nodes().len(), 2);
    let node = fold.node(&path("root.agent-1")).unwrap();
    assert_eq!((node.messages, node.state), (4, State::Completed));
    assert_eq!((node.task.as_str(), node.ended.is_some()), ("and the pears?", true));
    assert_eq!(node.outcome.as_ref().unwrap().text, "four pears");
    let spent = tree.at("root.agent-1").filter_map(|kind| match kind {
        EventKind::Spent { usage, .. } => Some(usage.input),
        _ => None,
    });
    assert_eq!(node.usage.input, spent.sum::<u64>());
}

#[tokio::test(start_paused = true)]
async fn one_that_fell_short_may_spend_as_much_again_and_is_no_longer_unfinished() {
    let tight = json!({ "prompt": "count", "budget": { "max_turns": 1 } });
    let script = Script::new()
        .on("root", [Reply::calls([call("s", "agent_spawn", tight)]), Reply::text("waiting")])
        .on("root", [Reply::calls([send("f", "root.agent-1", "go on")]), Reply::text("waiting")])
        .on("root", [Reply::text("done")])
        .on("root.agent-1", [Reply::calls([call("l", "list_dir", json!({}))])])
        .on("root.agent-1", [Reply::text("half").last(), Reply::text("all of it")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let ends = tree.at("root.agent-1").filter_map(|kind| match kind {
        EventKind::Finished { outcome, .. } => Some((outcome.ending, outcome.text.clone())),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    let half = (Ending::BudgetExceeded, "half".to_owned());
    assert_eq!(ends, [half, (Ending::Completed, "all of it".to_owned())]);
    assert_eq!(answer(&tree, 1)["previous_state"], "failed");
    assert_eq!(tree.receipt("root").unfinished, []);
}

#[tokio::test(start_paused = true)]
async fn going_on_takes_a_place_and_is_refused_where_there_is_none() {
    let script = Script::new()
        .on("root", [Reply::calls([spawn("s", "quick")]), Reply::text("waiting")])
        .on("root", [Reply::calls([spawn("h", "slow")])])
        .on("root", [Reply::calls([send("f", "root.agent-1", "more")])])
        .on("root", [Reply::text("waiting"), Reply::text("done")])
        .on_task("slow", [Reply::text("ok").after(60 * SECOND)])
        .on_task("quick", [Reply::text("ok")]);
    let plan = Plan::new(script).settings(|settings| settings.max_children_per_agent = 1);
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let results = tree.results("root");
    assert!(results[2].starts_with("you have 1 child at work"), "{results:?}");
    assert_eq!(ids(&tree, "root.agent-1").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_its_parent_makes_a_child_go_on() {
    let script = Script::new()
        .on("root", [Reply::calls([spawn("s", "middle")]), Reply::text("thinking").after(SECOND)])
        .on("root", [Reply::calls([send("f", "root.agent-1.agent-1", "more")])])
        .on("root", [Reply::text("done")])
        .on("root.agent-1", [Reply::calls([spawn("t", "leaf")]), Reply::text("waiting")])
        .on("root.agent-1", [Reply::text("middle done")])
        .on_task("leaf", [Reply::text("leaf done")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let expected = "`root.agent-1.agent-1` has ended (completed): only its parent, \
                    `root.agent-1`, can make it go on";
    assert_eq!(tree.results("root")[1], expected);
    assert_eq!(ids(&tree, "root.agent-1.agent-1").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_cancelled_can_go_on_too() {
    let cancel = call("x", "agent_cancel", json!({ "agent_id": "root.agent-1" }));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("s", "count")]), Reply::calls([cancel])])
        .on("root", [Reply::calls([send("f", "root.agent-1", "go on")]), Reply::text("waiting")])
        .on("root", [Reply::text("done")])
        .on("root.agent-1", [Reply::hang(), Reply::text("here I am")]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(answer(&tree, 2)["previous_state"], "cancelled");
    assert!(tree.heard("root")[1].contains("here I am"));
}

#[tokio::test(start_paused = true)]
async fn two_messages_to_one_that_has_ended_are_both_heard() {
    let both = [send("a", "root.agent-1", "first"), send("b", "root.agent-1", "second")];
    let script = Script::new()
        .on("root", [Reply::calls([spawn("s", "count")]), Reply::text("waiting")])
        .on("root", [Reply::calls(both), Reply::text("waiting"), Reply::text("done").always()])
        .on("root.agent-1", [Reply::text("ok").always()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let heard = tree.heard("root.agent-1");
    assert_eq!(heard, ["count", "first", "second"]);
    assert_eq!(ids(&tree, "root.agent-1").len(), 2);
}
