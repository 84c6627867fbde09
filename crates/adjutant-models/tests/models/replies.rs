//! What a scripted model says, to whom and when.

use std::time::Duration;

use adjutant_core::{
    Delta, Model, ModelError, Part, Price, StopReason, ToolChoice, Trouble, Usage,
};
use adjutant_models::{
    Scripted,
    script::{Reply, Script, Severity, call},
};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::support::Asking;

/// A model of a script in a file.
fn from_file(name: &str, text: &str) -> Scripted {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    Scripted::open(&path).unwrap()
}

fn root() -> Asking {
    Asking::new("root", "audit")
}

fn text(text: &str) -> Result<Delta, ModelError> {
    Ok(Delta::Text(text.to_owned()))
}

#[tokio::test]
async fn an_answer_is_fragments_then_parts_then_usage_then_stop() {
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    let calls = [call("x", "read_file", json!({"path": "a"}))];
    let reply = Reply::calls(calls).saying("I look.").reasoning("hm").using(usage);
    let model = Scripted::new(Script::new().on("root", [reply]));
    let heard: Vec<_> = root().hear(&model).await.into_iter().map(Result::unwrap).collect();
    let Delta::Part(Part::Call(call)) = &heard[4] else { panic!("{heard:?}") };
    assert_eq!((&*call.id, call.name.as_str()), ("x", "read_file"));
    assert_eq!(call.arguments, json!({"path": "a"}));
    let thought = Part::Reasoning { text: "hm".to_owned(), native: None };
    let before = [
        Delta::Reasoning("hm".to_owned()),
        Delta::Text("I look.".to_owned()),
        Delta::Part(thought),
        Delta::Part(Part::text("I look.")),
    ];
    assert_eq!(heard[..4], before);
    assert_eq!(heard[5..], [Delta::Usage(usage), Delta::Stop(StopReason::Calls)]);
}

#[tokio::test]
async fn a_file_can_say_all_that_rust_can() {
    let toml = r#"
        window = 1000
        max_output = 100
        price = { input = 1, output = 2 }
        unused = "fail"

        [[reply]]
        agent = "root"
        turn = 1
        text = "hello"
        stop = "length"

        [[reply]]
        agent = "root"
        times = "any"
        calls = [{ tool = "a" }, { tool = "b", args = { n = 1 } }]
    "#;
    let json = json!({
        "window": 1000, "max_output": 100, "price": {"input": 1, "output": 2}, "unused": "fail",
        "reply": [
            {"agent": "root", "turn": 1, "text": "hello", "stop": "length"},
            {"agent": "root", "times": "any", "calls": [{"tool": "a"}, {"tool": "b", "args": {"n": 1}}]},
        ],
    });
    for model in [from_file("a.toml", toml), from_file("a.json", &json.to_string())] {
        let info = model.info();
        assert_eq!((info.window, info.max_output), (1000, 100));
        assert_eq!(info.price, Some(Price { input: 1, output: 2, ..Price::default() }));
        assert_eq!(model.severity(), Severity::Fail);
        let heard = root().hear(&model).await;
        assert_eq!(heard[0], text("hello"));
        assert_eq!(heard.last(), Some(&Ok(Delta::Stop(StopReason::Length))));
        for turn in 2..5 {
            let calls = root().turn(turn).calls(&model).await;
            let ids: Vec<_> = calls.iter().map(|call| call.id.to_string()).collect();
            assert_eq!(ids, [format!("c{turn}-1"), format!("c{turn}-2")]);
            assert_eq!(calls[0].arguments, json!({}));
            assert_eq!(calls[1].arguments, json!({"n": 1}));
        }
    }
}

#[tokio::test]
async fn what_an_agent_gets_does_not_depend_on_who_asks_first() {
    let script = Script::new()
        .on_task("auth", [Reply::text("auth 1"), Reply::text("auth 2")])
        .on("root.*", [Reply::text("any 1"), Reply::text("any 2")]);
    let auth = || Asking::new("root.sub-1", "read auth.rs");
    let first = || Asking::new("root.sub-2", "read pay.rs");
    let second = || Asking::new("root.sub-3", "read pay.rs");
    let expected = [["auth 1", "auth 2"], ["any 1", "any 2"], ["any 1", "any 2"]];
    for order in [[0, 1, 2, 0, 1, 2], [2, 2, 1, 0, 1, 0], [1, 0, 0, 2, 2, 1]] {
        let model = Scripted::new(script.clone());
        let mut got: [Vec<String>; 3] = Default::default();
        for who in order {
            let asking = [auth(), first(), second()].into_iter().nth(who).unwrap();
            got[who].push(asking.text(&model).await);
        }
        assert_eq!(got, expected);
    }
}

#[tokio::test]
async fn a_reply_for_a_turn_waits_for_it() {
    let script =
        Script::new().on("root", [Reply::text("third").turn(3), Reply::text("twice").times(2)]);
    let model = Scripted::new(script);
    for (turn, expected) in [(1, "twice"), (2, "twice"), (3, "third")] {
        assert_eq!(root().turn(turn).text(&model).await, expected);
    }
    let error = root().turn(4).error(&model).await;
    let expected = "the script `script` has no reply for `root`, turn 4 (its task begins “audit”)";
    assert_eq!((error.trouble, error.message.as_str()), (Trouble::Refused, expected));
}

#[tokio::test]
async fn a_last_turn_gets_last_words_and_no_calls() {
    let script = Script::new().on(
        "root",
        [Reply::text("in short").last(), Reply::calls([call("x", "a", json!({}))]).always()],
    );
    let model = Scripted::new(script);
    assert_eq!(root().calls(&model).await.len(), 1);
    assert_eq!(root().without_calls().text(&model).await, "in short");
    let error = root().without_calls().error(&model).await;
    assert!(error.message.contains("no reply without calls for `root`"), "{error}");
    let words = Scripted::new(Script::new().on("root", [Reply::text("plain")]));
    assert_eq!(root().without_calls().text(&words).await, "plain");
}

#[tokio::test]
async fn a_script_that_makes_no_sense_refuses_every_request() {
    let model = Scripted::new(Script::new().on("scout", [Reply::text("x")]).named("odd"));
    let error = root().error(&model).await;
    assert_eq!(error.trouble, Trouble::Refused);
    let start = "the script `odd` makes no sense: reply 1: `scout` fits no agent";
    assert!(error.message.starts_with(start), "{error}");
}

#[tokio::test]
async fn replies_nobody_got_are_told() {
    let model = Scripted::new(
        Script::new()
            .on("root", [Reply::text("used").times(2), Reply::text("a long story ".repeat(9))])
            .on("root.a-*", [Reply::calls([call("x", "read_file", json!({}))]).turn(2)])
            .on_task("auth", [Reply::hang()]),
    );
    root().text(&model).await;
    let expected = [
        "reply 2 for `root`: “a long story a long story a long story…”",
        "reply 3 for `root.a-*`, turn 2: calls read_file",
        "reply 4 for `*`, task “auth”: hangs",
    ];
    assert_eq!(model.unused(), expected);
}

#[tokio::test(start_paused = true)]
async fn words_come_one_by_one_after_a_delay() {
    let pause = Duration::from_millis(10);
    let reply = Reply::text("one two three").after(Duration::from_secs(1)).word_by_word(pause);
    let model = Scripted::new(Script::new().on("root", [reply]));
    let start = Instant::now();
    let mut stream = root().stream(&model);
    let mut heard = Vec::new();
    while let Some(Ok(delta)) = stream.next().await {
        heard.push((start.elapsed().as_millis(), delta));
    }
    let fragment = |at, text: &str| (at, Delta::Text(text.to_owned()));
    let expected = [fragment(1000, "one "), fragment(1010, "two "), fragment(1020, "three")];
    assert_eq!(heard[..3], expected);
    assert_eq!(heard.last(), Some(&(1020, Delta::Stop(StopReason::Done))));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_hangs_says_its_words_and_never_ends() {
    let model = Scripted::new(Script::new().on("root", [Reply::hang().saying("well")]));
    let mut stream = root().stream(&model);
    assert_eq!(stream.next().await, Some(text("well")));
    let long = Duration::from_secs(1_000_000);
    assert!(timeout(long, stream.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_failure_tells_when_to_try_again_and_is_used_up() {
    let model = from_file(
        "a.toml",
        "[[reply]]\ndelay_ms = 50\nerror = { kind = 'busy', retry_after_ms = 700 }\n\
         [[reply]]\ntext = 'now'\n",
    );
    let start = Instant::now();
    let error = root().error(&model).await;
    assert_eq!(start.elapsed().as_millis(), 50);
    assert_eq!((error.trouble, error.is_passing()), (Trouble::Busy, true));
    assert_eq!(error.retry_after, Some(Duration::from_millis(700)));
    assert_eq!(root().text(&model).await, "now");
}

#[tokio::test]
async fn a_broken_answer_ends_without_a_stop() {
    let usage = Usage { input: 7, output: 2, ..Usage::default() };
    let model = Scripted::new(
        Script::new().on("root", [Reply::text("one two three").cut_after(2).using(usage)]),
    );
    let heard = root().hear(&model).await;
    assert_eq!(heard, [text("one "), text("two "), Ok(Delta::Usage(usage))]);
}

#[tokio::test]
async fn usage_nobody_gave_is_estimated_from_bytes() {
    let model = Scripted::new(Script::new().on("root", [Reply::text("x".repeat(400))]));
    let heard = root().hear(&model).await;
    let Some(Ok(Delta::Usage(usage))) = heard.iter().rev().nth(1) else { panic!("{heard:?}") };
    assert_eq!(usage.output, 100);
    assert!((1..20).contains(&usage.input), "{usage:?}");
}

#[tokio::test]
async fn requests_are_remembered_only_when_wanted() {
    let script = Script::new().on("*", [Reply::text("x")]);
    let model = Scripted::new(script.clone().recording());
    Asking::new("root.a-1", "audit").offering(&["read_file"]).text(&model).await;
    let seen = model.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].agent.as_str(), seen[0].turn), ("root.a-1", 1));
    assert_eq!((seen[0].choice, seen[0].max_output), (ToolChoice::Free, 1000));
    assert_eq!(seen[0].tools, ["read_file"]);
    assert_eq!(seen[0].messages[0].text(), "audit");
    let silent = Scripted::new(script);
    root().text(&silent).await;
    assert!(silent.requests().is_empty());
}

#[tokio::test]
async fn an_answer_is_no_longer_than_was_asked_for() {
    let model = Scripted::new(Script::new().on("root", [Reply::text("word ".repeat(10_000))]));
    let heard: Vec<_> = root().hear(&model).await.into_iter().map(Result::unwrap).collect();
    let Some(Delta::Part(Part::Text { text, .. })) = heard.get(1) else { panic!("{heard:?}") };
    assert_eq!(text.len(), 4000, "a thousand tokens of four bytes");
    assert_eq!(heard.last(), Some(&Delta::Stop(StopReason::Length)));
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_the_window_is_too_long() {
    let script = Script::new().window(10).on("root", [Reply::text("x")]);
    let long = Asking::new("root", &"word ".repeat(100));
    let heard = long.hear(&Scripted::new(script)).await;
    let error = heard[0].clone().unwrap_err();
    assert_eq!(error.trouble, Trouble::TooLong);
    assert!(error.message.contains("at most 10"), "{error}");
}
