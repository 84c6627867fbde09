//! An earlier result is used again where it would come out the same, and nowhere else.

use std::{fs, time::Duration};

use adjutant_core::{Access, Effect, Limits, Order, Tree as Folded, Wish};
use adjutant_models::{
    Scripted,
    script::{Call, Script},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Does, Plan, Reply, Tree, call, delegation, is_started, sub};

const MARK: &str = "an earlier result: nothing it looked at has changed since";

/// A directory with a file, and one in it.
fn ground() -> TempDir {
    let ground = TempDir::new().unwrap();
    fs::create_dir(ground.path().join("inner")).unwrap();
    fs::write(ground.path().join("a.txt"), "one\n").unwrap();
    ground
}

fn look() -> Vec<Call> {
    vec![
        call("r", "read_file", json!({ "path": "a.txt" })),
        call("l", "list_dir", json!({ "path": "inner" })),
    ]
}

fn write(path: &str) -> Call {
    call("w", "write_file", json!({ "path": path, "content": "two\n" }))
}

/// Children that do this and say `1`.
fn children(doing: Vec<Call>) -> Script {
    Script::new().on("root.sub-*", [Reply::calls(doing), Reply::text("1")])
}

/// Makes these calls, one after the other.
fn root(script: Script, calls: impl IntoIterator<Item = Call>) -> Script {
    let calls = calls.into_iter().map(|call| Reply::calls([call]));
    script.on("root", calls).on("root", [Reply::text("done")])
}

async fn run(plan: Plan) -> Tree {
    let mut tree = plan.begin("go").await;
    let outcome = tree.end().await;
    assert_eq!(outcome.text, "done", "{outcome:?}");
    tree
}

/// Has an order carried out by children that look, has this done, and gives another order.
async fn then(between: Option<Call>, order: Value) -> Tree {
    let ground = ground();
    let calls = [sub("c1", "look")].into_iter().chain(between);
    let script = root(children(look()), calls.chain([call("c2", "sub_agent", order)]));
    let other = Scripted::new(children(look()));
    run(Plan::new(script).at(ground.path()).model("other", other)).await
}

fn is_recalled(tree: &Tree) -> bool {
    let is_marked = tree.results("root").last().unwrap().contains(MARK);
    assert_eq!(is_marked, !tree.at("root.sub-2").any(is_started), "{:#?}", tree.results("root"));
    is_marked
}

#[tokio::test(start_paused = true)]
async fn the_same_order_is_answered_by_the_earlier_result_and_no_model_is_asked() {
    let tree = then(None, json!({ "prompt": "look" })).await;
    assert!(is_recalled(&tree));
    let results = tree.results("root");
    assert!(results[0].starts_with("1\n\n[root.sub-1 ("), "{results:?}");
    assert!(!results[0].contains(MARK));
    assert!(results[1].starts_with("1\n\n[root.sub-1 ("), "{results:?}");
    let events = tree.journal.read(tree.session.id(), 0, usize::MAX).await.unwrap();
    let folded = Folded::fold(events.iter().map(|event| &**event));
    assert_eq!(folded.nodes().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_has_changed_is_looked_at_by_a_new_child() {
    let order = json!({ "prompt": "look" });
    for (what, between, is_same) in [
        (
            "a file it read",
            call(
                "w",
                "edit_file",
                json!({
                    "path": "a.txt", "old_text": "one", "new_text": "two"
                }),
            ),
            false,
        ),
        ("a directory it listed", write("inner/b.txt"), false),
        ("a file it did not read", write("b.txt"), true),
    ] {
        // Only who has read a file may change it.
        let ground = ground();
        let read = call("r", "read_file", json!({ "path": "a.txt" }));
        let again = call("c2", "sub_agent", order.clone());
        let script = root(children(look()), [read, sub("c1", "look"), between, again]);
        let tree = run(Plan::new(script).at(ground.path())).await;
        assert_eq!(is_recalled(&tree), is_same, "{what}: {:#?}", tree.results("root"));
    }
}

#[tokio::test(start_paused = true)]
async fn another_order_is_carried_out() {
    let others = [
        json!({ "prompt": "look there" }),
        json!({ "prompt": "look", "model": "other" }),
        json!({ "prompt": "look", "system_prompt": "be long" }),
        json!({ "prompt": "look", "tools": ["read_file", "list_dir"] }),
        json!({ "prompt": "look", "output_schema": { "type": "number" } }),
        json!({ "prompt": "look", "budget": { "max_turns": 9 } }),
        json!({ "prompt": "look", "last_n": 1 }),
        json!({ "prompt": "look", "files": ["a.txt"] }),
        json!({ "prompt": "look", "cache": false }),
    ];
    for order in others {
        let tree = then(None, order.clone()).await;
        assert!(!is_recalled(&tree), "{order}");
    }
    assert!(is_recalled(&then(None, json!({ "prompt": "look", "cache": true })).await));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_did_more_than_look_is_not_remembered() {
    let deeds = [
        write("b.txt"),
        call("x", "run_command", json!({ "command": "true" })),
        call("x", "ask_user", json!({ "question": "really?" })),
        call("x", "sub_agent", json!({ "prompt": "deeper" })),
        call("x", "notes_write", json!({ "key": "k", "value": "v" })),
        call("x", "teleport", json!({})),
    ];
    for deed in deeds {
        let ground = ground();
        let script = root(children(vec![deed.clone()]), [sub("c1", "look"), sub("c2", "look")]);
        let tree = run(Plan::new(script).at(ground.path())).await;
        assert!(!is_recalled(&tree), "{deed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_fell_short_is_not_remembered() {
    let script = Script::new().on("root.sub-*", [Reply::hang(), Reply::text("half of it").last()]);
    let tree = run(Plan::new(root(script, [sub("c1", "look"), sub("c2", "look")]))).await;
    assert!(!is_recalled(&tree));
}

#[tokio::test(start_paused = true)]
async fn what_a_child_was_told_meanwhile_counts_as_more_than_looking() {
    for is_told in [false, true] {
        let ground = ground();
        let (tokens, seconds) = (json!({ "max_tokens": 50_000 }), json!({ "max_seconds": 120 }));
        let spawn = json!({ "prompt": "look", "budget": seconds });
        let again = json!({ "prompt": "look", "budget": tokens });
        let tell = json!({ "agent_id": "root.agent-1", "message": "hurry", "when": "steer" });
        let tell = is_told.then(|| call("t", "agent_send", tell));
        let wait = call("w", "agent_wait", json!({ "agent_ids": ["root.agent-1"] }));
        let calls = [call("s", "agent_spawn", spawn)].into_iter().chain(tell);
        let script = Script::new()
            .on(
                "root.agent-1",
                [Reply::calls(look()).after(Duration::from_secs(9)), Reply::text("1")],
            )
            .on("root.sub-2", [Reply::text("1")]);
        let script = root(script, calls.chain([wait, call("c", "sub_agent", again)]));
        let tree = run(Plan::new(script).at(ground.path())).await;
        assert_eq!(is_recalled(&tree), !is_told);
    }
}

/// A tool that starts a child which gives the order anew.
fn between(name: &'static str, authority: Wish) -> Does {
    Does::new(name, Effect::Delegate, move |host| {
        let authority = authority.clone();
        Box::pin(async move {
            let (name, task) = (name.to_owned(), "hand it on".to_owned());
            let limits = Limits { authority, ..Limits::default() };
            let engine = delegation(host)?;
            let order = Order { name, task, limits, ..Order::default() };
            let started = engine.start(order).await?;
            Ok(engine.wait(&started.id.to_string()).await?.outcome.text.clone())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn who_may_not_see_what_was_seen_is_not_told_what_came_of_it() {
    let tools = ["web_fetch".to_owned()].into();
    let fewer = Wish { access: Access::DenyList { tools }, ..Wish::default() };
    let narrow = Wish { scope: Some("inner".into()), ..Wish::default() };
    for (name, wish) in [("alike", Wish::default()), ("narrow", narrow), ("fewer", fewer)] {
        let ground = ground();
        let middle = format!("root.{name}-2");
        let script = root(children(look()), [sub("c1", "look"), call("b", name, json!({}))])
            .on(&middle, [Reply::calls([sub("c2", "look")]), Reply::text("ok")])
            .on("root.*.sub-1", [Reply::text("I looked myself")]);
        let tree = run(Plan::new(script).at(ground.path()).tool(between(name, wish))).await;
        let result = &tree.results(&middle)[0];
        assert_eq!(result.contains(MARK), name == "alike", "{result}");
        assert_eq!(result.starts_with("I looked myself"), name != "alike", "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn to_look_again_is_not_to_have_read() {
    let ground = ground();
    let change = call("w", "write_file", json!({ "path": "a.txt", "content": "two\n" }));
    let script = root(children(look()), [sub("c1", "look"), sub("c2", "look"), change]);
    let tree = run(Plan::new(script).at(ground.path())).await;
    assert!(tree.results("root")[1].contains(MARK));
    assert_eq!(fs::read_to_string(ground.path().join("a.txt")).unwrap(), "one\n");
}

#[tokio::test(start_paused = true)]
async fn only_the_latest_results_are_remembered() {
    let orders = (0..65).map(|number| sub(&format!("c{number}"), &format!("look {number}")));
    let again = [sub("x", "look 64"), sub("y", "look 0")];
    let script = Script::new().on("root.*", [Reply::text("1")]);
    let tree = run(Plan::new(root(script, orders.chain(again)))).await;
    let results = tree.results("root");
    assert!(results[65].contains(MARK), "{}", results[65]);
    assert!(!results[66].contains(MARK), "{}", results[66]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_looked_too_often_is_not_remembered() {
    for (often, is_kept) in [(64, true), (65, false)] {
        let ground = ground();
        let list = |number| call(&format!("l{number}"), "list_dir", json!({}));
        let script =
            root(children((0..often).map(list).collect()), [sub("c1", "look"), sub("c2", "look")]);
        assert_eq!(is_recalled(&run(Plan::new(script).at(ground.path())).await), is_kept);
    }
}
