//! Many calls of the root are noticed: it is told, a person is asked, it is stopped.

use adjutant_core::{Allowance, Answer, Ask, Ending, EventKind};
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{Plan, Reply, Tree, call, count, says, sub};

const TOLD: &str = "tool calls. If you have what you need";

fn look(number: u64) -> Reply {
    let read = json!({ "path": "Cargo.toml", "offset": number });
    Reply::calls([call("r", "read_file", read)])
}

/// A root that looks so often, then is done.
fn looks(times: u64) -> Plan {
    let script = Script::new()
        .on("root", (1..=times).map(look))
        .on("root", [Reply::text("done").last(), Reply::text("done")]);
    Plan::new(script)
}

fn breaks(plan: Plan, warn_at: u64, pause_at: u64) -> Plan {
    plan.settings(|settings| {
        settings.breaker.warn_at = count(warn_at);
        settings.breaker.pause_at = count(pause_at);
    })
}

fn words(text: &str) -> Answer {
    Answer::Words { text: text.to_owned() }
}

fn asked(tree: &Tree, at: &str) -> usize {
    tree.at(at).filter(|kind| matches!(kind, EventKind::Asked { .. })).count()
}

fn warnings(tree: &Tree, at: &str) -> Vec<String> {
    tree.heard(at).into_iter().filter(|text| text.contains(TOLD)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_root_is_told_once_that_it_has_made_many_calls() {
    let mut tree = breaks(looks(6), 3, 0).begin("go").await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    let warnings = warnings(&tree, "root");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("you have made 3 tool calls"), "{warnings:?}");
    assert_eq!(asked(&tree, "root"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_lets_it_go_on_and_is_asked_again_after_as_many_more() {
    let (mut tree, _there) = breaks(looks(7), 4, 3).begin_attended("go").await;
    for calls in [3, 6] {
        let question = tree.question("root").await;
        let asked = tree.seen.last().unwrap();
        let EventKind::Asked { ask, .. } = &asked.kind else { unreachable!() };
        let expected = Ask::Question {
            prompt: format!("{calls} tool calls have been made. Go on?"),
            choices: vec!["go on".to_owned(), "stop".to_owned()],
        };
        assert_eq!(**ask, expected);
        let answer = if calls == 3 { words(" Go on ") } else { Answer::Allow };
        tree.answer("root", question, answer).await;
    }
    assert_eq!(tree.end().await.ending, Ending::Completed);
    assert_eq!(tree.receipt("root").calls, 7);
    assert_eq!(tree.heard("root"), ["go"], "what a person has seen needs no warning");
}

#[tokio::test(start_paused = true)]
async fn a_person_stops_it_and_it_has_last_words() {
    for answer in [words("Stop"), Answer::Deny { reason: None }] {
        let (mut tree, _there) = breaks(looks(9), 0, 3).begin_attended("go").await;
        let question = tree.question("root").await;
        tree.answer("root", question, answer).await;
        let outcome = tree.end().await;
        assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, "done"));
        assert_eq!(outcome.reason.as_deref(), Some("a person stopped it after 3 tool calls"));
        assert_eq!(tree.receipt("root").calls, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn other_words_of_a_person_are_a_direction() {
    let (mut tree, _there) = breaks(looks(4), 0, 3).begin_attended("go").await;
    let question = tree.question("root").await;
    tree.answer("root", question, words("look at the tests")).await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    let heard = tree.heard("root");
    assert!(heard[1].ends_with("said:]\nlook at the tests"), "{heard:?}");
    assert_eq!(tree.receipt("root").calls, 4);
}

#[tokio::test(start_paused = true)]
async fn with_nobody_there_it_goes_on_to_the_hard_stop() {
    let hard = Allowance { calls: count(8), ..Allowance::default() };
    let mut tree = breaks(looks(20), 2, 3).allowance(hard).begin("go").await;
    let outcome = tree.end().await;
    assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, "done"));
    assert_eq!(tree.receipt("root").calls, 8);
    assert_eq!(asked(&tree, "root"), 2);
    assert!(tree.at("root").any(|kind| says("this is your final answer")(kind)));
    let warnings = warnings(&tree, "root");
    assert_eq!(warnings.len(), 3, "once at 2, and where nobody was there to ask: {warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_root_stands_still_while_a_person_is_asked() {
    let minute = Allowance { millis: count(60_000), ..Allowance::default() };
    let plan = breaks(looks(4), 0, 3).allowance(minute);
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    tokio::time::sleep(std::time::Duration::from_secs(1800)).await;
    tree.answer("root", question, words("go on")).await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
}

#[tokio::test(start_paused = true)]
async fn children_have_their_budgets_and_are_neither_told_nor_asked_about() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "x")]), Reply::text("done")])
        .on("root.sub-1", (1..=5).map(look))
        .on("root.sub-1", [Reply::text("ok")]);
    let (mut tree, _there) = breaks(Plan::new(script), 2, 3).begin_attended("go").await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    assert_eq!(tree.receipt("root.sub-1").calls, 5);
    assert_eq!(tree.receipt("root").calls, 1);
    assert_eq!((asked(&tree, "root.sub-1"), warnings(&tree, "root.sub-1").len()), (0, 0));
}
