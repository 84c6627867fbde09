//! Every limit holds, and findings are not lost at it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use adjutant_core::{
    Allowance, Clamp, Command, Effect, Ending, EventKind, Isolation, Order, Peers, Price, Stay,
    StopReason, ToolChoice, Usage, WaitFor, When,
};
use adjutant_models::script::Script;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{
    Does, Plan, Reply, Talks, call, count, delegation, holds, is_started, path, says, spawn, sub,
};

fn hundred() -> Usage {
    Usage { input: 90, output: 10, ..Usage::default() }
}

fn look(number: usize) -> Reply {
    let read = json!({ "path": "Cargo.toml", "offset": number });
    Reply::calls([call("r", "read_file", read)]).using(hundred())
}

fn endless() -> Script {
    let last = Reply::text("what I found").last().using(hundred());
    Script::new().on("root", (1..90).map(look)).on("root", [last])
}

#[tokio::test(start_paused = true)]
async fn at_each_limit_there_is_one_last_turn_without_tools() {
    let allowances = [
        Allowance { turns: count(3), ..Allowance::default() },
        Allowance { calls: count(3), ..Allowance::default() },
        Allowance { tokens: count(9000), ..Allowance::default() },
    ];
    for allowance in allowances {
        let plan = Plan::new(endless().recording()).allowance(allowance);
        let mut tree = plan.begin("go").await;
        let outcome = tree.end().await;
        assert_eq!(outcome.ending, Ending::BudgetExceeded, "{allowance:?}: {outcome:?}");
        assert_eq!(outcome.text, "what I found");
        let requests = tree.model.requests();
        let last = requests.last().unwrap();
        assert_eq!(last.choice, ToolChoice::None);
        assert!(requests[..requests.len() - 1].iter().all(|seen| seen.choice == ToolChoice::Free));
        assert_eq!(last.tools, requests[0].tools, "the list stays, for the provider's cache");
        let receipt = tree.receipt("root");
        assert!(receipt.tokens <= 9000, "{receipt:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_past_the_limit_are_answered_and_not_run() {
    let calls = |n: usize| call(&format!("c{n}"), "list_dir", json!({ "path": "src" }));
    let script = Script::new()
        .on("root", [Reply::calls((1..=4).map(calls)), Reply::text("two were enough").last()]);
    let plan = Plan::new(script).allowance(Allowance { calls: count(2), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "two were enough");
    let results = tree.results("root");
    assert!(results[1].contains("agent.rs"), "{results:?}");
    assert!(results[2].starts_with("not run: `root` has used its 2 tool calls"), "{results:?}");
    let called = tree.at("root").filter(|kind| matches!(kind, EventKind::Called { .. }));
    assert_eq!(called.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_with_a_few_words_and_takes_the_children_along() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "hang")]), Reply::hang()])
        .on("root", [Reply::text("as far as I got").last()])
        .on_task("hang", [Reply::hang()]);
    let minute = Allowance { millis: count(60_000), ..Allowance::default() };
    let start = Instant::now();
    let mut tree = Plan::new(script).allowance(minute).begin("go").await;
    let outcome = tree.end().await;
    assert_eq!((outcome.ending, outcome.text.as_str()), (Ending::Timeout, "as far as I got"));
    assert!(start.elapsed() <= Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(tree.outcome("root.sub-1").ending != Ending::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_child_has_two_minutes() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "hang")]), Reply::text("went on")])
        .on_task("hang", [Reply::hang(), Reply::text("half of it").last()]);
    let start = Instant::now();
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "went on");
    assert_eq!(tree.outcome("root.sub-1").ending, Ending::Timeout);
    assert!(tree.results("root")[0].contains("half of it"));
    assert!(start.elapsed() <= Duration::from_secs(120), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn children_spend_from_everyone_above() {
    let child =
        |n| Reply::text(format!("{n}")).using(Usage { input: 400, output: 10, ..Usage::default() });
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "one")]), Reply::calls([sub("c2", "two")])])
        .on("root", [Reply::text("spent").last()])
        .on_task("one", [child(1)])
        .on_task("two", [child(2)]);
    let plan = Plan::new(script);
    let mut tree =
        plan.allowance(Allowance { tokens: count(1400), ..Allowance::default() }).begin("go").await;
    let outcome = tree.end().await;
    assert_eq!(outcome.ending, Ending::BudgetExceeded, "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_money_needs_a_price() {
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    let script = endless().price(price);
    let plan =
        Plan::new(script).allowance(Allowance { micros: count(9000), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.ending, Ending::BudgetExceeded);
    let receipt = tree.receipt("root");
    assert!(receipt.micros > 1500 && receipt.micros <= 9000, "{receipt:?}");
}

#[tokio::test(start_paused = true)]
async fn too_many_children_are_refused_and_places_come_back() {
    let many = (1..=7).map(|n| spawn(&format!("c{n}"), "hang"));
    let again = (1..=2).map(|n| spawn(&format!("d{n}"), "quick"));
    let cancel = ["root.agent-1", "root.agent-2", "root.agent-3"]
        .map(|id| call(id, "agent_cancel", json!({ "agent_id": id })));
    let script = Script::new()
        .on("root", [Reply::calls(many), Reply::calls(cancel), Reply::calls(again)])
        .on("root", [Reply::text("done").last()])
        .on_task("hang", [Reply::hang()])
        .on_task("quick", [Reply::text("ok")]);
    let plan = Plan::new(script).allowance(Allowance { turns: count(3), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    let refused = |text: &String| text.contains("you have 5 children at work");
    assert_eq!(results[..7].iter().filter(|text| refused(text)).count(), 2, "{results:?}");
    assert!(!results[10..].iter().any(refused), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn the_tree_is_full_at_its_limit() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([sub("c2", "a"), sub("c3", "b")]), Reply::text("ok")])
        .on("root.sub-1.*", [Reply::text("x").after(Duration::from_secs(1))]);
    let plan = Plan::new(script).settings(|settings| settings.max_concurrent_agents = 2);
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let results = tree.results("root.sub-1");
    assert!(results[1].contains("2 agents are at work"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn the_bottom_is_not_offered_delegation_and_cannot_have_it() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "leaf")]), Reply::text("done")])
        .on_task("leaf", [Reply::calls([sub("c2", "deeper")]), Reply::text("alone")])
        .recording();
    let mut tree = Plan::new(script).depth(1).begin("go").await;
    tree.end().await;
    let offered = tree.model.requests();
    let leaf = offered.iter().find(|seen| seen.agent == path("root.sub-1")).unwrap();
    assert!(!leaf.tools.iter().any(|name| name == "sub_agent"), "{:?}", leaf.tools);
    assert!(leaf.tools.iter().any(|name| name == "ask_user"));
    let refusal = "Maximum sub-agent depth (1) exceeded: sub-agents may not start others here, do \
                   the task yourself";
    assert_eq!(tree.results("root.sub-1")[0], refusal);
}

/// Counts how many run at one time.
fn gauge(most: &Arc<AtomicUsize>) -> Does {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    Does::new("work", Effect::Read, move |_| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        Box::pin(async move {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            now.fetch_sub(1, SeqCst);
            Ok("worked".to_owned())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn calls_queue_for_their_places() {
    let calls = (1..=9).map(|n| call(&format!("c{n}"), "work", json!({})));
    let script = Script::new().on("root", [Reply::calls(calls), Reply::text("done")]);
    let most = Arc::new(AtomicUsize::new(0));
    let plan = Plan::new(script).tool(gauge(&most));
    let mut tree = plan.settings(|settings| settings.max_concurrent_ops = 3).begin("go").await;
    tree.end().await;
    assert_eq!(most.load(SeqCst), 3);
    assert_eq!(tree.results("root"), ["worked"; 9]);
}

#[tokio::test(start_paused = true)]
async fn a_tree_of_any_depth_runs_on_one_place() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("up")])
        .on("root.sub-1", [Reply::calls([sub("c2", "leaf")]), Reply::text("through")])
        .on_task("leaf", [look(1), Reply::text("down")]);
    let plan = Plan::new(script).settings(|settings| {
        settings.max_concurrent_ops = 1;
        settings.max_model_calls = 1;
    });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "up");
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_short_says_so() {
    let half = || Reply::text("half an ans");
    let silent = Reply::text("").reasoning("thinking and thinking");
    for (cut, why) in [
        (half().stopped(StopReason::Length), "the answer reached its limit"),
        (silent.stopped(StopReason::Length), "the answer reached its limit"),
        (half().stopped(StopReason::Filtered), "the provider would not let the model go on"),
    ] {
        let mut tree = Plan::new(Script::new().on("root", [cut])).begin("go").await;
        let outcome = tree.end().await;
        assert_eq!(outcome.ending, Ending::Completed);
        assert_eq!(outcome.reason.as_deref(), Some(why));
    }
}

fn minute() -> Allowance {
    Allowance { millis: count(60_000), ..Allowance::default() }
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_that_calls_tools_all_the_same_only_speaks() {
    let script = Script::new().on("root", [look(1), look(2).saying("what I found").last()]);
    let plan = Plan::new(script).allowance(Allowance { turns: count(1), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.text, "what I found");
    let calls = tree.at("root").filter_map(|kind| match kind {
        EventKind::Said { message } => Some(message.calls().count()),
        _ => None,
    });
    assert_eq!(calls.sum::<usize>(), 1, "a call nobody answers would spoil the conversation");
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_that_hangs_ends_with_the_time() {
    let turns = Allowance { turns: count(1), ..minute() };
    for (allowance, ending) in [(minute(), Ending::Timeout), (turns, Ending::BudgetExceeded)] {
        let script = Script::new().on("root", [look(1), Reply::hang().always()]);
        let start = Instant::now();
        let mut tree = Plan::new(script).allowance(allowance).begin("go").await;
        assert_eq!(tree.end().await.ending, ending);
        assert!(start.elapsed() <= Duration::from_secs(60), "{ending}: {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_last_turn_can_be_cancelled() {
    let script = Script::new().on("root", [look(1), Reply::hang()]);
    let plan = Plan::new(script).allowance(Allowance { turns: count(1), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    tree.until_at("root", says("this is your final answer")).await;
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.ending, Ending::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_receipt_counts_the_last_turn_too() {
    let plan = Plan::new(endless().recording());
    let plan = plan.allowance(Allowance { turns: count(2), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    tree.end().await;
    assert_eq!(tree.model.requests().len(), 3);
    assert_eq!(tree.receipt("root").turns, 3);
}

#[tokio::test(start_paused = true)]
async fn long_results_leave_room_for_last_words() {
    for bytes in [10_000, 16_000, 28_000, 200_000] {
        let reads =
            Does::new("gulp", Effect::Read, move |_| async move { Ok("x".repeat(bytes)) }.boxed());
        let used = Usage { input: 1700, output: 60, ..Usage::default() };
        let gulp = |id: &str| Reply::calls([call(id, "gulp", json!({}))]).using(used);
        let last = Reply::text("what I found").last().using(hundred());
        let script = Script::new().on("root", [gulp("a"), gulp("b"), gulp("c"), last]);
        let allowance = Allowance { tokens: count(9000), ..Allowance::default() };
        let mut tree = Plan::new(script).tool(reads).allowance(allowance).begin("go").await;
        let outcome = tree.end().await;
        assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, "what I found"));
        assert!(tree.receipt("root").tokens <= 9000);
        let is_cut = |kind: &&EventKind| matches!(kind, EventKind::Compacted { .. });
        assert!(tree.at("root").filter(is_cut).count() <= 1, "cut once, as far as has to be");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_shorter_is_not_cut() {
    let sips = Does::new("sip", Effect::Read, |_| async { Ok("x".to_owned()) }.boxed());
    let used = Usage { input: 8500, output: 60, ..Usage::default() };
    let sip = Reply::calls([call("s", "sip", json!({}))]).saying("so far").using(used);
    let allowance = Allowance { tokens: count(9000), ..Allowance::default() };
    let plan = Plan::new(Script::new().on("root", [sip])).tool(sips).allowance(allowance);
    let mut tree = plan.begin("go").await;
    let outcome = tree.end().await;
    assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, "so far"));
    assert!(!tree.at("root").any(|kind| matches!(kind, EventKind::Compacted { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_child_stopped_by_a_limit_above_has_last_words() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "x")]), Reply::text("root's last").last()])
        .on("root.sub-1", (1..90).map(look))
        .on("root.sub-1", [Reply::text("what I found").last()]);
    let plan =
        Plan::new(script).allowance(Allowance { tokens: count(15_000), ..Allowance::default() });
    let mut tree = plan.begin("go").await;
    tree.end().await;
    let outcome = tree.outcome("root.sub-1");
    assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, "what I found"));
}

#[tokio::test(start_paused = true)]
async fn what_those_below_found_reaches_everyone_above_when_the_time_is_up() {
    let deaf = Does::new("deaf", Effect::Read, |_| Box::pin(std::future::pending()));
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("last").last()])
        .on("root.sub-1", [Reply::calls([sub("c2", "leaf")]).saying("what the middle found")])
        .on_task("leaf", [Reply::calls([call("d", "deaf", json!({}))]).saying("what I found")]);
    let mut tree = Plan::new(script).tool(deaf).allowance(minute()).begin("go").await;
    tree.end().await;
    let (root, middle) = (tree.results("root"), tree.results("root.sub-1"));
    assert!(root[0].contains("what the middle found"), "{root:?}");
    assert!(middle[0].contains("what I found"), "{middle:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_child_found_is_not_lost_while_what_it_started_is_being_ended() {
    let slow = holds(|| sleep(Duration::from_secs(3)).map(Ok).boxed());
    let deaf = Does::new("deaf", Effect::Read, |_| Box::pin(std::future::pending()));
    let calls = [call("h", "holds", json!({})), call("d", "deaf", json!({}))];
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "x")]), Reply::text("last").last()])
        .on("root.sub-1", [Reply::calls(calls).saying("what I found")]);
    let plan = Plan::new(script).tool(slow).tool(deaf);
    let mut tree = plan.allowance(minute()).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].contains("what I found"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_asks_for_more_than_there_is_learns_what_it_gets() {
    let clamp = |what: &str, asked: &str, given: &str| Clamp {
        what: what.to_owned(),
        asked: asked.to_owned(),
        given: given.to_owned(),
    };
    let tokens = Allowance { tokens: count(20_000), ..Allowance::default() };
    let spawns = |budget| {
        let order = json!({ "prompt": "x", "budget": budget });
        Reply::calls([call("c1", "agent_spawn", order)]).using(hundred())
    };
    let asks = json!({ "prompt": "x", "budget": { "max_seconds": 120 } });
    for (allowance, starts, child, expected) in [
        (
            tokens,
            spawns(json!({ "max_tokens": 50_000 })),
            "root.agent-1",
            Some(clamp("tokens", "50000", "19900")),
        ),
        // Nobody asked for what is only usual.
        (tokens, spawns(json!({})), "root.agent-1", None),
        (minute(), Reply::calls([sub("c1", "x")]), "root.sub-1", None),
        (
            minute(),
            Reply::calls([call("c1", "sub_agent", asks)]),
            "root.sub-1",
            Some(clamp("milliseconds", "120000", "54000")),
        ),
    ] {
        let script = Script::new().on("root", [starts, Reply::text("done"), Reply::text("done")]);
        let script = script.on_task("x", [Reply::text("ok").using(hundred())]);
        let mut tree = Plan::new(script).allowance(allowance).begin("go").await;
        tree.end().await;
        let begun = tree.at(child).find_map(|kind| match kind {
            EventKind::Started { clamped, .. } => Some(clamped.clone()),
            _ => None,
        });
        assert_eq!(begun, Some(expected.into_iter().collect()));
        assert_eq!(begun, Some(tree.receipt(child).clamped));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_money_is_refused_where_no_price_is_known() {
    let order = json!({ "prompt": "x", "model": "unpriced" });
    let calls = Reply::calls([call("c1", "sub_agent", order)]);
    let script = Script::new().on("root", [calls, Reply::text("done")]);
    let plan = Plan::new(script).model("unpriced", Talks::new(|_| stream::empty().boxed()));
    let micros = Allowance { micros: count(1000), ..Allowance::default() };
    let mut tree = plan.allowance(micros).begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].contains("the price of `made/up` is not known"), "{results:?}");
    assert_eq!(tree.seen.iter().filter(|event| is_started(&event.kind)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_a_resting_root_stands_still() {
    let script = Script::new().on("root", [Reply::text("one"), Reply::text("two")]);
    let mut tree = Plan::new(script).staying().allowance(minute()).begin("go").await;
    tree.until_at("root", |kind| *kind == EventKind::Rested).await;
    sleep(Duration::from_secs(3 * 3600)).await;
    tree.send("root", Command::Say { text: "more".to_owned() }).await;
    tree.until_at("root", |kind| *kind == EventKind::Rested).await;
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.text, "two");
}

#[tokio::test(start_paused = true)]
async fn model_calls_queue_for_their_places() {
    let second = Duration::from_secs(1);
    let calls = (1..=5).map(|n| sub(&format!("c{n}"), "x"));
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done")])
        .on("root.*", [Reply::text("ok").after(second)]);
    let start = Instant::now();
    let plan = Plan::new(script).settings(|settings| settings.max_model_calls = 2);
    plan.begin("go").await.end().await;
    assert!(start.elapsed() >= 3 * second && start.elapsed() < 4 * second, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_asked_no_longer_than_can_be_paid_for() {
    let plan = Plan::new(endless().max_output(8000).recording());
    let allowance = Allowance { tokens: count(9000), ..Allowance::default() };
    let mut tree = plan.allowance(allowance).begin("go").await;
    tree.end().await;
    let most = tree.model.requests()[0].max_output;
    assert!(most < 8000, "{most}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_two_children_holds_no_place() {
    let both = Does::new("both", Effect::Delegate, |host| {
        Box::pin(async {
            let engine = delegation(host)?;
            let order = |task: &str| Order {
                name: "a".to_owned(),
                task: task.to_owned(),
                ..Order::default()
            };
            let quick = engine.start(order("quick")).await?.id.to_string();
            let slow = engine.start(order("slow")).await?.id.to_string();
            let (quick, slow) = tokio::join!(engine.wait(&quick), engine.wait(&slow));
            Ok(format!("{}, {}", quick?.outcome.text, slow?.outcome.text))
        })
    });
    let script = Script::new()
        .on("root", [Reply::calls([call("c", "both", json!({}))]), Reply::text("done")])
        .on_task("quick", [Reply::text("one")])
        .on_task("slow", [look(1).after(Duration::from_secs(1)), Reply::text("two")]);
    let plan = Plan::new(script).tool(both).settings(|settings| settings.max_concurrent_ops = 1);
    let mut tree = plan.begin("go").await;
    tree.end().await;
    assert_eq!(tree.results("root"), ["one, two"]);
}

#[tokio::test(start_paused = true)]
async fn unless_told_otherwise_there_are_eight_agents_and_five_children() {
    let hangs = |count: usize| (1..=count).map(|n| spawn(&format!("c{n}"), "hang"));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("m", "middle")].into_iter().chain(hangs(5)))])
        .on("root", [Reply::text("waiting"), Reply::text("done").last()])
        .on_task("middle", [Reply::calls(hangs(4)), Reply::hang()])
        .on_task("hang", [Reply::hang()]);
    let mut tree = Plan::new(script).allowance(minute()).begin("go").await;
    tree.end().await;
    let refused = |at: &str, why: &str| {
        let results = tree.results(at);
        results.iter().map(|text| text.starts_with(why)).collect::<Vec<_>>()
    };
    let [no, yes] = [false, true];
    assert_eq!(refused("root", "you have 5 children at work"), [no, no, no, no, no, yes]);
    assert_eq!(refused("root.agent-1", "8 agents are at work"), [no, no, no, yes]);
}

#[tokio::test(start_paused = true)]
async fn unless_told_otherwise_32_calls_run_at_one_time() {
    let calls = (1..=40).map(|n| call(&format!("c{n}"), "work", json!({})));
    let script = Script::new().on("root", [Reply::calls(calls), Reply::text("done")]);
    let most = Arc::new(AtomicUsize::new(0));
    Plan::new(script).tool(gauge(&most)).begin("go").await.end().await;
    assert_eq!(most.load(SeqCst), 32);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_again_after_every_refusal() {
    let tries = Does::new("tries", Effect::Delegate, |host| {
        Box::pin(async {
            let engine = delegation(host)?;
            let order = || Order { name: "a".to_owned(), task: "x".to_owned(), ..Order::default() };
            let mut outside = order();
            outside.limits.authority.scope = Some("/".into());
            let mut bad = [
                outside,
                Order { task: " ".to_owned(), ..order() },
                Order { model: Some("none".to_owned()), ..order() },
                Order { schema: Some(Arc::new(json!({ "type": 1 }))), ..order() },
                Order { isolation: Isolation::Worktree, ..order() },
            ];
            bad[2].limits.allowance.calls = count(1);
            for order in bad {
                engine.start(order).await.unwrap_err();
            }
            // One whose adapter panics leaves its place too, and so does one that is cancelled.
            let broken = Order { model: Some("broken".to_owned()), ..order() };
            let broken = engine.start(broken).await?.id.to_string();
            assert_eq!(engine.wait(&broken).await?.outcome.ending, Ending::Failed);
            let stopped = engine.start(Order { task: "hang".to_owned(), ..order() }).await?;
            engine.cancel(stopped.path.as_str()).await?;
            let last = engine.start(order()).await?.id.to_string();
            Ok(engine.wait(&last).await?.outcome.text.clone())
        })
    });
    let script = Script::new()
        .on("root", [Reply::calls([call("c", "tries", json!({}))]), Reply::text("done")])
        .on_task("hang", [Reply::hang()])
        .on_task("x", [Reply::text("there was a place")]);
    let plan = Plan::new(script).tool(tries).model("broken", Talks::new(|_| panic!("boom")));
    let plan = plan.settings(|settings| {
        settings.max_concurrent_agents = 1;
        settings.max_children_per_agent = 1;
    });
    let mut tree = plan.begin("go").await;
    tree.end().await;
    assert_eq!(tree.results("root"), ["there was a place"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_rests_is_not_woken_where_there_is_no_place_for_it() {
    let wakes = Does::new("wakes", Effect::Delegate, |host| {
        Box::pin(async {
            let engine = delegation(host)?;
            let order = |task: &str| Order {
                name: "a".to_owned(),
                task: task.to_owned(),
                ..Order::default()
            };
            let staying = Order { stay: Stay::UntilTold, peers: Peers::Parent, ..order("stay") };
            let host = engine.start(staying).await?.path.to_string();
            let rests = [host.clone()];
            engine.wait_for(&rests, WaitFor::All, None).await?;
            let busy = engine.start(order("busy")).await?.id.to_string();
            let more = || engine.send(&host, "more".to_owned(), When::Queue);
            let refusal = more().await.unwrap_err();
            engine.wait(&busy).await?;
            more().await?;
            engine.wait_for(&rests, WaitFor::All, None).await?;
            Ok(format!("{refusal}; then: {}", engine.status(&host)?.words))
        })
    });
    let script = Script::new()
        .on("root", [Reply::calls([call("c", "wakes", json!({}))])])
        .on("root", [Reply::text("done"), Reply::text("done")])
        .on_task("stay", [Reply::text("one"), Reply::text("two")])
        .on_task("busy", [Reply::text("ok").after(Duration::from_secs(1))]);
    let plan = Plan::new(script).tool(wakes).settings(|it| it.max_concurrent_agents = 1);
    let mut tree = plan.begin("go").await;
    tree.end().await;
    let results = tree.results("root");
    assert!(results[0].starts_with("1 agent is at work"), "{results:?}");
    assert!(results[0].ends_with("then: two"), "{results:?}");
}
