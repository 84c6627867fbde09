//! The end of a background child is told to its parent once; what is said to an agent
//! is heard.

use std::time::Duration;

use adjutant_core::{
    Allowance, Command, Effect, EventKind, Fact, ModelError, Order, ToolChoice, Trouble,
};
use adjutant_models::script::Script;
use adjutant_tools::{DelegationSettings, Parameters};
use futures_util::FutureExt as _;
use serde_json::json;

use crate::support::{
    Does, Plan, Reply, call, count, delegation, has_result, holds, is_finished, is_started, path,
    spawn, told,
};

const SECOND: Duration = Duration::from_secs(1);

fn list() -> adjutant_models::script::Call {
    call("l", "list_dir", json!({}))
}

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
    let told: Vec<_> = tree.at("root").map(told).filter(|ended| !ended.is_empty()).collect();
    assert_eq!(told, [[path("root.agent-1"), path("root.agent-2")]]);
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
    assert_eq!(tree.at("root").flat_map(told).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn steering_is_heard_at_the_next_turn_and_the_rest_when_idle() {
    let slow = || Reply::calls([call("l", "list_dir", json!({}))]).after(10 * SECOND);
    let script = Script::new().on(
        "root",
        [slow(), slow().saying("again"), Reply::text("first done"), Reply::text("all done")],
    );
    let mut tree = Plan::new(script).begin("go").await;
    tree.until_at("root", is_started).await;
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
    let gone = tree.position("root.agent-1", is_finished);
    assert!(gone < tree.position("root", has_result("x")));
    assert_eq!(tree.at("root").flat_map(told).count(), 0, "it is not told again");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_has_ended_is_not_cancelled() {
    let cancel = call("x", "agent_cancel", json!({ "agent_id": "root.agent-1" }));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "quick")]), Reply::calls([cancel]).after(SECOND)])
        .on("root", [Reply::text("heard of it")])
        .on_task("quick", [Reply::text("the result")]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "heard of it");
    let results = tree.results("root");
    assert!(results[1].contains(r#""success":false"#), "{results:?}");
    assert_eq!(tree.at("root").flat_map(told).count(), 1, "its result was not taken");
}

/// A root that does something to its grandchild, in the middle of its child's work.
fn from_far_above(verb: &str, leaf: Reply) -> Script {
    let act = call("x", verb, json!({ "agent_id": "root.agent-1.agent-1" }));
    Script::new()
        .on("root", [Reply::calls([spawn("c1", "middle")]), Reply::calls([act]).after(5 * SECOND)])
        .on("root", [Reply::text("waiting"), Reply::text("done")])
        .on("root.agent-1", [Reply::calls([spawn("c2", "leaf")])])
        .on("root.agent-1", [Reply::text("thinking").after(10 * SECOND), Reply::text("heard it")])
        .on_task("leaf", [leaf])
}

#[tokio::test(start_paused = true)]
async fn a_grandparent_that_looks_does_not_take_the_news_from_the_parent() {
    for (verb, leaf) in [
        ("agent_status", Reply::text("the leaf's words")),
        ("agent_cancel", Reply::hang().saying("the leaf's words")),
    ] {
        let mut tree = Plan::new(from_far_above(verb, leaf)).begin("go").await;
        tree.end().await;
        let heard = tree.heard("root.agent-1");
        assert!(heard[1].contains("the leaf's words"), "{verb}: {heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_and_recorded_is_heard_and_the_rest_refused() {
    let script =
        Script::new().on("root", [Reply::text("one").after(60 * SECOND), Reply::text("two")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.until_at("root", is_started).await;
    let mut taken = 0;
    for n in 0..300 {
        let say = Command::Say { text: format!("m{n}") };
        taken += usize::from(tree.session.send(&path("root"), say).await.is_ok());
    }
    tree.end().await;
    let mailed = tree.at("root").filter(|kind| matches!(kind, EventKind::Mailed { .. })).count();
    assert_eq!((taken, mailed, tree.heard("root").len()), (256, 256, 257));
}

#[tokio::test(start_paused = true)]
async fn a_full_mailbox_still_takes_the_end_of_a_child() {
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "work")]), Reply::text("one").after(60 * SECOND)])
        .on("root", [Reply::text("two")])
        .on_task("work", [Reply::text("the result").after(30 * SECOND)]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.until_at("root.agent-1", is_started).await;
    let say = || Command::Say { text: "x".to_owned() };
    while tree.session.send(&path("root"), say()).await.is_ok() {}
    assert_eq!(tree.end().await.text, "two");
    assert_eq!(tree.at("root").flat_map(told).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_on_its_way_out_takes_no_messages() {
    let refused = Reply::error(ModelError::new(Trouble::Refused, "no"));
    for last in [Reply::text("bye"), refused] {
        let calls = Reply::calls([call("h", "holds", json!({}))]);
        let slow = holds(|| tokio::time::sleep(5 * SECOND).map(Ok).boxed());
        let plan = Plan::new(Script::new().on("root", [calls, last])).tool(slow);
        let mut tree = plan.begin("go").await;
        tree.until_at("root", has_result("h")).await;
        tokio::time::sleep(SECOND).await;
        let say = Command::Say { text: "wait!".to_owned() };
        assert!(tree.session.send(&path("root"), say).await.is_err());
        tree.end().await;
        assert!(!tree.at("root").any(|kind| matches!(kind, EventKind::Mailed { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn a_background_child_that_was_waited_for_is_not_told_again() {
    let waits = Does::new("waits", Effect::Delegate, |host| {
        Box::pin(async { Ok(delegation(host)?.wait("root.agent-1").await?.outcome.text.clone()) })
    });
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "work")])])
        .on("root", [Reply::calls([call("w", "waits", json!({}))]), Reply::text("done")])
        .on_task("work", [Reply::text("the result").after(SECOND)]);
    let mut tree = Plan::new(script).tool(waits).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(tree.results("root")[1], "the result");
    assert_eq!(tree.at("root").flat_map(told).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_news_says_why_a_child_did_not_finish_and_what_it_left_behind() {
    let refused = Reply::error(ModelError::new(Trouble::Refused, "it is gone"));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "work")]), Reply::text("waiting")])
        .on("root", [Reply::text("done")])
        .on_task("work", [Reply::calls([call("h", "holds", json!({}))]), refused]);
    let stubborn = holds(|| async { Err("it will not end".to_owned()) }.boxed());
    let mut tree = Plan::new(script).tool(stubborn).begin("go").await;
    tree.end().await;
    let heard = tree.heard("root");
    assert!(heard[1].contains("\nreason: the model failed: it is gone\n"), "{heard:?}");
    assert!(heard[1].contains("\nmay still be running: thing: it will not end\n"), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_cut_in_the_news_which_say_so() {
    let script = Script::new()
        .max_output(20_000)
        .on("root", [Reply::calls([spawn("c1", "work")]), Reply::text("waiting")])
        .on("root", [Reply::text("done")])
        .on_task("work", [Reply::text("x".repeat(40 * 1024))]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let heard = tree.heard("root");
    let id = tree.seen.iter().find(|event| event.path == path("root.agent-1")).unwrap().id;
    let cut =
        format!("x\n[cut: 8192 more bytes; `agent_status` of {id} with `offset` 32768 goes on]");
    assert!(heard[1].ends_with(&cut), "{}", heard[1].len());
    assert!(heard[1].len() < 33 * 1024);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_ask_for_the_rest_of_a_result_is_told_where_it_is() {
    let no_status: fn(&mut DelegationSettings) =
        |settings| settings.tools.retain(|tool| tool != "agent_status");
    let no_offset: fn(&mut DelegationSettings) =
        |settings| settings.parameters = Parameters::Documented;
    for setting in [no_status, no_offset] {
        let script = Script::new()
            .max_output(20_000)
            .on("root", [Reply::calls([spawn("c1", "work")]), Reply::text("waiting")])
            .on("root", [Reply::text("done")])
            .on_task("work", [Reply::text("x".repeat(40 * 1024))]);
        let mut tree = Plan::new(script).delegating(setting).begin("go").await;
        tree.end().await;
        let heard = &tree.heard("root")[1];
        let cut = "x\n[cut: 8192 more bytes, from byte 32768 on, are in the transcript of agent ";
        assert!(heard.contains(cut), "{}", heard.len());
    }
}

#[tokio::test(start_paused = true)]
async fn the_news_and_who_asks_have_all_the_facts() {
    let looks = Does::new("looks", Effect::Read, |host| {
        (10..22).for_each(|file| host.note(Fact::Read { path: format!("{file}.rs") }));
        host.note(Fact::Modified { path: "b.rs".to_owned() });
        Box::pin(async { Ok("ok".to_owned()) })
    });
    let status = call("s", "agent_status", json!({ "agent_id": "root.agent-1" }));
    let tight = json!({ "prompt": "work", "budget": { "max_seconds": 99 } });
    let script = Script::new()
        .on("root", [Reply::calls([call("c1", "agent_spawn", tight)]), Reply::text("waiting")])
        .on("root", [Reply::calls([status]), Reply::text("done")])
        .on("root.agent-1", [Reply::calls([call("l", "looks", json!({})), spawn("c2", "leaf")])])
        .on("root.agent-1", [Reply::text("waiting"), Reply::text("the result")])
        .on_task("leaf", [Reply::error(ModelError::new(Trouble::Refused, "no"))]);
    let plan = Plan::new(script).tool(looks);
    let mut tree = plan
        .allowance(Allowance { millis: count(50_000), ..Allowance::default() })
        .begin("go")
        .await;
    tree.end().await;
    let facts = [
        "read 10.rs, 11.rs, 12.rs, 13.rs, 14.rs, 15.rs, 16.rs, 17.rs, 18.rs, 19.rs and 2 more",
        "modified b.rs",
        "milliseconds 99000 was cut to 45000",
        "did not finish: root.agent-1.agent-1",
    ];
    let heard = &tree.heard("root")[1];
    assert!(heard.ends_with(&format!("]\n{}\nthe result", facts.join("\n"))), "{heard}");
    let asked: serde_json::Value = serde_json::from_str(&tree.results("root")[1]).unwrap();
    let notes = asked["notes"].as_array().unwrap();
    assert_eq!(notes[notes.len() - facts.len()..], facts, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn what_a_child_did_not_hear_is_told_with_its_end() {
    let refused = || Reply::error(ModelError::new(Trouble::Refused, "no"));
    for last in [refused().after(5 * SECOND), Reply::hang()] {
        let late = json!({ "agent_id": "root.agent-1", "message": "and the pears?" });
        let spawns = json!({ "prompt": "work", "budget": { "max_seconds": 9 } });
        let script = Script::new()
            .on("root", [Reply::calls([call("c1", "agent_spawn", spawns)])])
            .on("root", [Reply::calls([call("m", "agent_send", late)]).after(SECOND)])
            .on("root", [Reply::text("waiting"), Reply::text("done")])
            .on("root.agent-1", [last, Reply::text("bye").last()]);
        let mut tree = Plan::new(script).begin("go").await;
        tree.end().await;
        assert!(tree.results("root")[1].contains("The message was sent."));
        assert_eq!(tree.receipt("root.agent-1").unheard, ["and the pears?"]);
        let heard = &tree.heard("root")[1];
        assert!(heard.contains("\ndid not hear: \"and the pears?\"\n"), "{heard}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_child_did_not_hear_is_told_to_whoever_cancels_it() {
    let child = |more: serde_json::Value| {
        let mut arguments = json!({ "agent_id": "root.agent-1" });
        arguments.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        arguments
    };
    let send = call("m", "agent_send", child(json!({ "message": "and the pears?" })));
    let cancel = call("x", "agent_cancel", child(json!({})));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "work")]), Reply::calls([send])])
        .on("root", [Reply::calls([cancel]), Reply::text("done")])
        .on("root.agent-1", [Reply::hang()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let answer = &tree.results("root")[2];
    assert!(answer.contains(r#"did not hear: \"and the pears?\""#), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ended_just_before_the_limit_is_in_the_last_request() {
    let both = Reply::calls([list(), list()]).after(10 * SECOND);
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "work")]), both, Reply::text("summed up").last()])
        .on_task("work", [Reply::text("the result").after(5 * SECOND)])
        .recording();
    let plan = Plan::new(script).allowance(Allowance { calls: count(2), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "summed up");
    let requests = tree.model.requests();
    let last = requests.iter().find(|seen| seen.choice == ToolChoice::None).unwrap();
    assert!(last.messages.iter().any(|message| message.text().contains("the result")));
}

#[tokio::test(start_paused = true)]
async fn of_many_finished_agents_the_latest_are_remembered() {
    let many = Does::new("many", Effect::Delegate, |host| {
        Box::pin(async {
            let engine = delegation(host)?;
            for _ in 0..300 {
                let (name, task) = ("sub".to_owned(), "x".to_owned());
                let started = engine.start(Order { name, task, ..Order::default() }).await?;
                engine.wait(&started.id.to_string()).await?;
            }
            let before = engine.status("root.sub-45").unwrap();
            let gone = |name: &str| engine.status(name).unwrap_err().to_string();
            let (forgotten, unknown) = ("only the journal has it", "shows those there are");
            assert!(gone("root.sub-44").ends_with(forgotten) && before.report.is_some());
            assert!(gone("019467d9-7e3a-7000-8000-000000000000").ends_with(forgotten));
            assert!(gone("root").ends_with(unknown) && gone("who").ends_with(unknown));
            Ok(engine.list().len().to_string())
        })
    });
    let script = Script::new()
        .on("root", [Reply::calls([call("m", "many", json!({}))]), Reply::text("done")])
        .on("root.*", [Reply::text("ok")]);
    let mut tree = Plan::new(script).tool(many).begin("go").await;
    tree.end().await;
    assert_eq!(tree.results("root"), ["256"]);
}
