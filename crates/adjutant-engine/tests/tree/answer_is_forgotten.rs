//! A yes that stands for longer than one call, and a no that needs no person.

use adjutant_core::{Answer, Ask, Command, Effect, EventKind, Mode, Pattern, Rules, Span};
use adjutant_engine::ChildQuestions;
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{Does, Plan, Reply, Tree, call, path, sub};

fn touch() -> Does {
    Does::new("touch", Effect::Write, |_| Box::pin(async { Ok("touched".to_owned()) }))
}

fn touches() -> Reply {
    Reply::calls([call("t", "touch", json!({}))])
}

/// A root that touches, and a child that does.
fn both_touch() -> Script {
    Script::new()
        .on("root", [touches(), Reply::calls([sub("c1", "write")]), Reply::text("done")])
        .on_task("write", [touches(), Reply::text("ok")])
}

fn rule(text: &str) -> Pattern {
    text.parse().unwrap()
}

fn asked(tree: &Tree, at: &str) -> usize {
    tree.seen
        .iter()
        .filter(|event| event.path == path(at))
        .filter(|event| matches!(event.kind, EventKind::Asked { .. }))
        .count()
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_the_session_holds_for_the_whole_tree() {
    let plan = Plan::new(both_touch()).mode(Mode::Ask).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    let yes = Answer::AllowFromNowOn { rules: Vec::new(), span: Span::Session };
    tree.answer("root", question, yes).await;
    tree.end().await;
    assert_eq!((asked(&tree, "root"), asked(&tree, "root.sub-1")), (1, 0));
    assert_eq!(tree.results("root.sub-1"), ["touched"]);
    // What was agreed to is in the record.
    let kept = Answer::AllowFromNowOn { rules: vec![rule("touch")], span: Span::Session };
    assert!(
        tree.at("root").any(|kind| *kind == EventKind::Answered { question, answer: kept.clone() })
    );
}

#[tokio::test(start_paused = true)]
async fn one_answer_is_an_answer_to_every_question_it_covers() {
    let both = [call("a", "touch", json!({})), call("b", "touch", json!({}))];
    let script = Script::new().on("root", [Reply::calls(both), Reply::text("done")]);
    let plan = Plan::new(script).mode(Mode::Ask).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let _first = tree.question("root").await;
    let second = tree.question("root").await;
    let yes = Answer::AllowFromNowOn { rules: Vec::new(), span: Span::Session };
    tree.answer("root", second, yes).await;
    tree.end().await;
    assert_eq!(tree.results("root"), ["touched", "touched"]);
    let is_withdrawn = |kind: &EventKind| matches!(kind, EventKind::Withdrawn { .. });
    assert!(tree.at("root").any(is_withdrawn));
}

#[tokio::test(start_paused = true)]
async fn a_yes_to_one_thing_is_no_yes_to_another() {
    let read = |id: &str, file: &str| call(id, "read_file", json!({ "path": file }));
    let script = Script::new().on(
        "root",
        [
            Reply::calls([read("a", "Cargo.toml")]),
            Reply::calls([read("b", "Cargo.toml")]),
            Reply::calls([read("c", "src/lib.rs")]),
            Reply::text("done"),
        ],
    );
    let rules = Rules { ask: vec![rule("read_file")], ..Rules::default() };
    let (mut tree, _there) = Plan::new(script).rules(rules).begin_attended("go").await;
    let first = tree.question("root").await;
    let yes = Answer::AllowFromNowOn { rules: Vec::new(), span: Span::Session };
    tree.answer("root", first, yes).await;
    let second = tree.question("root").await;
    tree.answer("root", second, Answer::Deny { reason: None }).await;
    tree.end().await;
    assert_eq!(asked(&tree, "root"), 2);
    let results = tree.results("root");
    assert!(results[0].contains("[package]") && results[0] == results[1], "{results:?}");
    assert_eq!(results[2], "a person refused this");
}

#[tokio::test(start_paused = true)]
async fn a_yes_does_not_lift_what_is_denied() {
    let read = call("r", "read_file", json!({ "path": "Cargo.toml" }));
    let script = Script::new().on("root", [touches(), Reply::calls([read]), Reply::text("done")]);
    let rules = Rules { deny: vec![rule("read_file")], ..Rules::default() };
    let plan = Plan::new(script).mode(Mode::Ask).rules(rules).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    let yes = Answer::AllowFromNowOn { rules: vec![rule("*")], span: Span::Session };
    tree.answer("root", question, yes).await;
    tree.end().await;
    let results = tree.results("root");
    assert_eq!(results[0], "touched");
    assert!(results[1].contains("rule `read_file` of `root`"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_would_stand_for_something_else_is_refused_with_what_would_stand_for_this() {
    let read = call("a", "read_file", json!({ "path": "Cargo.toml" }));
    let script = Script::new().on("root", [Reply::calls([read]), Reply::text("done")]);
    let rules = Rules { ask: vec![rule("read_file")], ..Rules::default() };
    let (mut tree, _there) = Plan::new(script).rules(rules).begin_attended("go").await;
    let question = tree.question("root").await;
    let yes = |text: &str| {
        let answer = Answer::AllowFromNowOn { rules: vec![rule(text)], span: Span::Session };
        Command::Answer { question, answer }
    };
    let refused = tree.session.send(&path("root"), yes("read_file(src/**)")).await.unwrap_err();
    let here = std::env::current_dir().unwrap();
    let right = format!("; `read_file({}/Cargo.toml)` would", here.display());
    let refused = refused.to_string();
    assert!(refused.starts_with("`read_file(src/**)` would not allow it"), "{refused}");
    assert!(refused.ends_with(&right), "{refused}");
    // The question is still there.
    tree.session.send(&path("root"), yes("read_file(*.toml)")).await.unwrap();
    tree.end().await;
    assert!(tree.results("root")[0].contains("[package]"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_for_good_holds_for_the_session_and_says_so() {
    let plan = Plan::new(both_touch()).mode(Mode::Ask).tool(touch());
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    let yes = Answer::AllowFromNowOn { rules: Vec::new(), span: Span::Always };
    tree.answer("root", question, yes).await;
    tree.end().await;
    let kept = Answer::AllowFromNowOn { rules: vec![rule("touch")], span: Span::Session };
    assert!(
        tree.at("root").any(|kind| *kind == EventKind::Answered { question, answer: kept.clone() })
    );
    assert_eq!(asked(&tree, "root.sub-1"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_names_what_a_standing_yes_would_allow() {
    let read = call("a", "read_file", json!({ "path": "Cargo.toml" }));
    let script = Script::new().on("root", [Reply::calls([read]), Reply::text("done")]);
    let rules = Rules { ask: vec![rule("read_file")], ..Rules::default() };
    let (mut tree, _there) = Plan::new(script).rules(rules).begin_attended("go").await;
    let question = tree.question("root").await;
    let here = std::env::current_dir().unwrap();
    let named = tree.at("root").any(|kind| match kind {
        EventKind::Asked { ask, .. } => match &**ask {
            Ask::Permission { rules, .. } => {
                *rules == [rule(&format!("read_file({}/Cargo.toml)", here.display()))]
            }
            Ask::Question { .. } => false,
        },
        _ => false,
    });
    assert!(named);
    tree.answer("root", question, Answer::Allow).await;
    tree.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_child_is_denied_what_would_be_asked() {
    let script = Script::new()
        .on("root", [touches(), Reply::calls([sub("c1", "write")]), Reply::text("done")])
        .on_task("write", [touches(), Reply::text("ok")]);
    let plan = Plan::new(script).mode(Mode::Ask).tool(touch());
    let plan = plan.settings(|settings| settings.child_questions = ChildQuestions::Deny);
    let (mut tree, _there) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    tree.answer("root", question, Answer::Allow).await;
    tree.end().await;
    assert_eq!(tree.results("root")[0], "touched");
    let results = tree.results("root.sub-1");
    let why = "not run: agents below the root may not ask for permission here (`touch` is asked: ";
    assert!(results[0].starts_with(why), "{results:?}");
}
