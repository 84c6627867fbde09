//! A question from any depth reaches a person or is answered at once; nothing waits for
//! ever and nothing is silently approved.

use std::time::Duration;

use adjutant_core::{
    Allowance, Answer, Ask, Cause, Command, Effect, Ending, EventKind, Mode, Tree as Folded,
};
use adjutant_engine::Unattended;
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{
    Does, Plan, Reply, call, count, delegation, has_result, path, says, spawn, sub,
};

fn asks(question: &str) -> Reply {
    Reply::calls([call("q", "ask_user", json!({ "question": question }))])
}

fn words(text: &str) -> Answer {
    Answer::Words { text: text.to_owned() }
}

/// A root, a child, and a grandchild that asks.
fn deep() -> Script {
    Script::new()
        .on("root", [Reply::calls([sub("c1", "middle")]), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([sub("c2", "leaf")]), Reply::text("passed on")])
        .on_task("leaf", [asks("which currency?"), Reply::text("it is settled")])
}

fn touch() -> Does {
    Does::new("touch", Effect::Write, |_| Box::pin(async { Ok("touched".to_owned()) }))
}

#[tokio::test(start_paused = true)]
async fn a_grandchilds_question_is_answered_by_a_person() {
    let (mut tree, _there) = Plan::new(deep()).begin_attended("go").await;
    let question = tree.question("root.sub-1.sub-1").await;
    tree.answer("root.sub-1.sub-1", question, words("EUR")).await;
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(tree.results("root.sub-1.sub-1"), ["EUR"]);
}

#[tokio::test(start_paused = true)]
async fn several_questions_are_open_at_once_and_answered_in_any_order() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "one"), sub("c2", "two")]), Reply::text("done")])
        .on_task("one", [asks("first?"), Reply::text("1")])
        .on_task("two", [asks("second?"), Reply::text("2")]);
    let (mut tree, _there) = Plan::new(script).begin_attended("go").await;
    let first = tree.question("root.sub-1").await;
    let second = tree.question("root.sub-2").await;
    tree.answer("root.sub-2", second, words("b")).await;
    tree.answer("root.sub-1", first, words("a")).await;
    tree.end().await;
    assert_eq!(tree.results("root.sub-1"), ["a"]);
    assert_eq!(tree.results("root.sub-2"), ["b"]);
    let late = Command::Answer { question: first, answer: words("late") };
    assert!(tree.session.send(&path("root.sub-1"), late).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn nobody_there_is_an_answer_and_never_a_yes() {
    let child = [
        Reply::calls([
            call("q", "ask_user", json!({ "question": "may I?" })),
            call("t", "touch", json!({})),
        ]),
        Reply::text("I decided myself"),
    ];
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "ask")]), Reply::text("done")])
        .on_task("ask", child);
    let mut tree = Plan::new(script).mode(Mode::Ask).tool(touch()).begin("go").await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    let is_touch =
        |kind: &EventKind| matches!(kind, EventKind::Called { tool, .. } if tool == "touch");
    assert!(!tree.at("root.sub-1").any(is_touch), "it was not run");
    let answers = tree.at("root.sub-1").filter_map(|kind| match kind {
        EventKind::Answered { answer, .. } => Some(answer.clone()),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [Answer::Unattended, Answer::Unattended]);
    let results = tree.results("root.sub-1");
    assert!(results[1].contains("nobody is there to allow it"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn when_nobody_can_answer_the_whole_tree_can_be_made_to_fail() {
    let plan = Plan::new(deep()).settings(|settings| settings.unattended = Unattended::Fail);
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.cause, Some(Cause::Unattended));
}

#[tokio::test(start_paused = true)]
async fn the_last_to_leave_is_replaced_in_time_or_not() {
    let (mut tree, there) = Plan::new(deep()).begin_attended("go").await;
    let question = tree.question("root.sub-1.sub-1").await;
    drop(there);
    tokio::time::advance(Duration::from_secs(4)).await;
    let there = tree.session.attend();
    tokio::time::advance(Duration::from_secs(60)).await;
    tree.answer("root.sub-1.sub-1", question, words("EUR")).await;
    tree.end().await;
    assert_eq!(tree.results("root.sub-1.sub-1"), ["EUR"]);
    drop(there);

    let (mut tree, there) = Plan::new(deep()).begin_attended("go").await;
    tree.question("root.sub-1.sub-1").await;
    drop(there);
    assert_eq!(tree.end().await.ending, Ending::Completed);
    assert!(tree.results("root.sub-1.sub-1")[0].to_lowercase().contains("nobody"));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_when_the_asker_is_stopped() {
    let (mut tree, _there) = Plan::new(deep()).begin_attended("go").await;
    let question = tree.question("root.sub-1.sub-1").await;
    tree.send("root.sub-1", Command::Cancel).await;
    tree.end().await;
    let withdrawn = |kind: &EventKind| *kind == EventKind::Withdrawn { question };
    assert!(tree.at("root.sub-1.sub-1").any(withdrawn));
    assert_eq!(tree.outcome("root.sub-1").ending, Ending::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_permission_is_asked_with_the_childs_path_and_a_refusal_tells_why() {
    let calls = || Reply::calls([call("t", "touch", json!({}))]);
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "write")]), Reply::text("done")])
        .on_task("write", [calls(), calls(), Reply::text("ok")]);
    let plan = Plan::new(script).mode(Mode::Ask).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let first = tree.question("root.sub-1").await;
    let reason = Some("not today".to_owned());
    tree.answer("root.sub-1", first, Answer::Deny { reason }).await;
    let second = tree.question("root.sub-1").await;
    tree.answer("root.sub-1", second, Answer::Allow).await;
    tree.end().await;
    assert_eq!(tree.results("root.sub-1"), ["a person refused this: not today", "touched"]);
}

#[tokio::test(start_paused = true)]
async fn clocks_stand_still_while_a_person_thinks() {
    let minute = Allowance { millis: count(60_000), ..Allowance::default() };
    let (mut tree, _there) = Plan::new(deep()).allowance(minute).begin_attended("go").await;
    let question = tree.question("root.sub-1.sub-1").await;
    tokio::time::advance(Duration::from_secs(3 * 3600)).await;
    tree.answer("root.sub-1.sub-1", question, words("EUR")).await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
}

/// A root with a child in the background that asks after a second.
fn in_the_background() -> Script {
    Script::new()
        .on("root", [Reply::calls([spawn("c1", "ask")]), Reply::text("waiting")])
        .on("root", [Reply::text("done")])
        .on_task("ask", [asks("which currency?").after(Duration::from_secs(1)), Reply::text("ok")])
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_an_idle_parent_stands_still_while_its_child_asks() {
    let minute = Allowance { millis: count(60_000), ..Allowance::default() };
    let plan = Plan::new(in_the_background()).allowance(minute);
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root.agent-1").await;
    tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
    tree.answer("root.agent-1", question, words("EUR")).await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_background_child_that_nobody_answers_can_make_the_whole_tree_fail() {
    let plan = Plan::new(in_the_background());
    let plan = plan.settings(|settings| settings.unattended = Unattended::Fail);
    assert_eq!(plan.begin("go").await.end().await.cause, Some(Cause::Unattended));
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_call_gave_up_is_closed() {
    let impatient = Does::new("impatient", Effect::Ask, |host| {
        Box::pin(async {
            let ask = Ask::Question { prompt: "?".to_owned(), choices: Vec::new() };
            let _ = tokio::time::timeout(Duration::from_secs(1), host.ask(ask)).await;
            Ok("gave up".to_owned())
        })
    });
    let calls = Reply::calls([call("q", "impatient", json!({}))]);
    let script = Script::new().on("root", [calls, Reply::text("done")]);
    let (mut tree, _there) = Plan::new(script).tool(impatient).begin_attended("go").await;
    tree.end().await;
    let folded = Folded::fold(tree.seen.iter().map(|event| &**event));
    assert_eq!(folded.questions(), []);
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_for_the_one_who_asks_and_once() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "one"), sub("c2", "two")]), Reply::text("done")])
        .on_task("one", [asks("first?"), Reply::text("1").after(Duration::from_secs(60))])
        .on_task("two", [asks("second?"), Reply::text("2")]);
    let (mut tree, _there) = Plan::new(script).begin_attended("go").await;
    let (first, second) = (tree.question("root.sub-1").await, tree.question("root.sub-2").await);
    let answer = |text| Command::Answer { question: first, answer: words(text) };
    let send = async |at, text| tree.session.send(&path(at), answer(text)).await;
    let refusal = send("root.sub-2", "astray").await.unwrap_err().to_string();
    assert_eq!(refusal, "`root.sub-2` does not ask that, or not any more");
    send("root.sub-1", "a").await.unwrap();
    assert!(send("root.sub-1", "late").await.is_err());
    tree.answer("root.sub-2", second, words("b")).await;
    tree.end().await;
    assert_eq!(tree.results("root.sub-1"), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_begins_after_it_was_allowed() {
    let script = Script::new()
        .on("root", [Reply::calls([call("t", "touch", json!({}))]), Reply::text("ok")]);
    let (mut tree, _there) =
        Plan::new(script).mode(Mode::Ask).tool(touch()).begin_attended("go").await;
    let question = tree.question("root").await;
    tree.answer("root", question, Answer::Allow).await;
    tree.end().await;
    let answered = tree.position("root", |kind| matches!(kind, EventKind::Answered { .. }));
    let called = tree.position("root", |kind| matches!(kind, EventKind::Called { .. }));
    assert!(answered < called && called < tree.position("root", has_result("t")));
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_person_or_a_child_are_seen_to_wait() {
    let states = Does::new("states", Effect::Delegate, |host| {
        Box::pin(async {
            let below = delegation(host)?.list();
            Ok(below.iter().map(|status| status.state.name()).collect::<Vec<_>>().join(", "))
        })
    });
    let status = call("s", "agent_status", json!({ "agent_id": "root.agent-1" }));
    let look = Reply::calls([call("l", "states", json!({})), status]);
    let minute = Duration::from_secs(60);
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c1", "write"), spawn("c2", "delegate")])])
        .on("root", [look.after(minute), Reply::text("waiting"), Reply::text("done").always()])
        .on_task("write", [Reply::calls([call("t", "touch", json!({}))]), Reply::text("ok")])
        .on_task("delegate", [Reply::calls([sub("c3", "work")]), Reply::text("ok")])
        .on_task("work", [Reply::text("ok").after(2 * minute)]);
    let plan = Plan::new(script).mode(Mode::Ask).tool(states).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root.agent-1").await;
    tree.until_at("root", says("waiting")).await;
    tree.answer("root.agent-1", question, Answer::Allow).await;
    tree.end().await;
    let results = tree.results("root");
    assert_eq!(results[2], "waiting, waiting, running");
    let status: serde_json::Value = serde_json::from_str(&results[3]).unwrap();
    assert_eq!((&status["state"], &status["is_final"]), (&json!("running"), &json!(false)));
}
