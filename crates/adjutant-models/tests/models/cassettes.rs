//! What was recorded and what is played.

use std::{fs, path::Path, sync::Arc, time::Duration};

use adjutant_core::{
    Delta, Message, Model, ModelError, ModelInfo, Models, Part, Request, StopReason, ToolResult,
    Trouble, Usage, WireLog,
};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    cassette::{BadCassette, Cassette, Player, Recorder, Redactor},
    script::{Reply, Script, call},
};
use futures_util::{
    FutureExt as _, StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::json;

use crate::support::Asking;

pub(crate) const DIRECTORY: &str = "/tmp/here";

pub(crate) fn recorder(script: Script) -> Recorder {
    let model = Arc::new(Scripted::new(script));
    Recorder::new(Arc::new(Catalogue::new(Pace::Prompt).with("the/model", model)))
}

pub(crate) fn cassette(recorder: &Recorder) -> Cassette {
    recorder.cassette(Path::new(DIRECTORY), Redactor::default())
}

/// Writes what was recorded, and returns what was written.
pub(crate) fn written(cassette: &Cassette) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("it.json");
    cassette.write(&file).unwrap();
    fs::read_to_string(file).unwrap()
}

pub(crate) fn read(text: &str) -> Result<Cassette, BadCassette> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("it.json");
    fs::write(&file, text).unwrap();
    Cassette::read(&file).map_err(|bad| BadCassette {
        file: bad.file.replace(&directory.path().display().to_string(), "…"),
        ..bad
    })
}

/// Plays what was recorded, by way of a file.
fn player(recorder: &Recorder) -> Player {
    let cassette = read(&written(&cassette(recorder))).unwrap();
    Player::new(cassette, "it.json", Path::new(DIRECTORY), Redactor::default())
}

pub(crate) fn find(models: &dyn Models) -> Arc<dyn Model> {
    models.find("the/model").unwrap()
}

pub(crate) fn say(text: &str) -> Message {
    Message::Assistant { parts: vec![Part::text(text)] }
}

pub(crate) fn results(text: &str) -> Message {
    let result = ToolResult { failed: false, ..ToolResult::failure("c1-1".into(), text) };
    Message::Tools { results: vec![result] }
}

#[tokio::test]
async fn every_kind_of_answer_is_played_as_it_was_heard() {
    let usage = Usage { input: 7, output: 3, cache_read: 2, ..Usage::default() };
    let failure = ModelError::new(Trouble::Unauthorized, "no\nkey");
    let script = Script::new()
        .on("root.whole-1", [Reply::text("two\nlines").reasoning("hm").using(usage)])
        .on("root.calls-1", [Reply::calls([call("c", "look", json!({ "lines": ["a\nb"] }))])])
        .on("root.long-1", [Reply::text("cut").stopped(StopReason::Length)])
        .on("root.broken-1", [Reply::text("one two three").cut_after(2)])
        .on("root.failed-1", [Reply::error(failure.clone()).saying("so far").using(usage)]);
    let recorder = recorder(script);
    let agents = ["whole", "calls", "long", "broken", "failed"];
    let asking = agents.map(|name| Asking::new(&format!("root.{name}-1"), "go"));
    let mut heard = Vec::new();
    for asking in &asking {
        heard.push(asking.hear(&*find(&recorder)).await);
    }
    let (player, mut played) = (player(&recorder), Vec::new());
    for asking in &asking {
        played.push(asking.hear(&*find(&player)).await);
    }
    // Fragments come in one piece each, and no server needs a rest.
    heard[3] = vec![Ok(Delta::Text("one two ".to_owned()))];
    let rested = ModelError { retry_after: Some(Duration::ZERO), ..failure };
    *heard[4].last_mut().unwrap() = Err(rested);
    assert_eq!(played, heard);
    assert_eq!((player.unused(), player.astray()), (None, None));
}

#[tokio::test]
async fn what_a_model_is_known_for_is_recorded_too() {
    let script = Script::new().window(5000).max_output(50).on("*", [Reply::text("x")]);
    let recorder = recorder(script);
    let info = find(&recorder).info().clone();
    let missing = recorder.find("the/other").err().unwrap();
    let player = player(&recorder);
    assert_eq!(*find(&player).info(), info);
    assert_eq!(*player.find(&info.name).unwrap().info(), info);
    assert_eq!(player.find("the/other").err().unwrap().message, missing.message);
    let unknown = player.find("gpt").err().unwrap();
    let message = "it.json has no model `gpt`; there are: `the/model`, `the/other`";
    assert_eq!((unknown.trouble, unknown.message.as_str()), (Trouble::NotFound, message));
}

#[tokio::test]
async fn an_answer_goes_to_who_asked_whenever_that_is() {
    let recorder = recorder(
        Script::new()
            .on("root.a-1", [Reply::text("first"), Reply::text("second")])
            .on("root.b-1", [Reply::text("other")]),
    );
    let (mut a, b) = (Asking::new("root.a-1", "go"), Asking::new("root.b-1", "go"));
    let model = find(&recorder);
    assert_eq!(a.text(&*model).await, "first");
    a.push(say("first"));
    a.push(results("seen"));
    assert_eq!(a.text(&*model).await, "second");
    assert_eq!(b.text(&*model).await, "other");

    let model = find(&player(&recorder));
    assert_eq!(b.text(&*model).await, "other");
    // Even one who was not heard of before, as after a crash.
    assert_eq!(a.text(&*model).await, "second");
    assert_eq!(Asking::new("root.a-1", "go").text(&*model).await, "first");
}

#[tokio::test]
async fn the_whole_conversation_counts() {
    let recorder = recorder(Script::new().on("*", [Reply::text("one"), Reply::text("two")]));
    let mut asking = Asking::new("root", "go");
    asking.text(&*find(&recorder)).await;
    asking.push(say("one"));
    asking.push(results("seen"));
    asking.text(&*find(&recorder)).await;
    for (task, reply, complaint) in
        [("stop", "one", "+ person: stop"), ("go", "none", "What it was told before that differs.")]
    {
        let model = find(&player(&recorder));
        let mut asking = Asking::new("root", task);
        if task == "go" {
            asking.text(&*model).await;
        }
        asking.push(say(reply));
        asking.push(results("seen"));
        let error = asking.error(&*model).await;
        assert!(error.message.contains("asks in turn 2"), "{error}");
        assert!(error.message.contains(complaint), "{error}");
    }
}

#[tokio::test]
async fn the_same_request_is_answered_as_often_as_it_was() {
    let busy = ModelError::new(Trouble::Busy, "later");
    let recorder = recorder(Script::new().on("root", [Reply::error(busy), Reply::text("now")]));
    let asking = Asking::new("root", "go");
    let model = find(&recorder);
    asking.error(&*model).await;
    asking.text(&*model).await;
    let model = find(&player(&recorder));
    assert_eq!(asking.error(&*model).await.trouble, Trouble::Busy);
    assert_eq!(asking.text(&*model).await, "now");
    let error = asking.error(&*model).await;
    assert_eq!(error.trouble, Trouble::Refused);
    assert!(error.message.ends_with("All 2 exchanges of this agent have been played."), "{error}");
}

#[tokio::test]
async fn what_was_not_recorded_is_refused_and_the_difference_shown() {
    let script = Script::new().on("*", [Reply::text("one"), Reply::text("two")]);
    let recorder = recorder(script);
    let (mut root, other) = (Asking::new("root", "count\nall"), Asking::new("root.a-1", "go"));
    let model = find(&recorder);
    root.text(&*model).await;
    other.text(&*model).await;
    root.push(say("one"));
    root.push(results("a\nb\nc"));
    root.text(&*model).await;

    let player = player(&recorder);
    let model = find(&player);
    let mut root = Asking::new("root", "count\nall");
    root.text(&*model).await;
    root.push(say("one"));
    root.push(results("a\nx\nc"));
    let error = root.error(&*model).await;
    let message = "the replay has left it.json: `root` asks in turn 2 what was not recorded. The \
                   nearest is its turn 2, recorded (-) and asked (+):\n  result c1-1: a\n- result \
                   c1-1: b\n+ result c1-1: x\n  result c1-1: c\n  model: scripted/script\n  …";
    assert_eq!((error.trouble, error.message.as_str()), (Trouble::Refused, message));
    // The first difference explains those that follow.
    assert_eq!(other.error(&*model).await.message, message);
    assert_eq!((player.astray().as_deref(), player.unused()), (Some(message), None));
}

#[tokio::test]
async fn whatever_a_model_is_asked_has_to_be_the_same() {
    let recorder = recorder(Script::new().on("*", [Reply::text("x").times(9)]));
    let asked = || Asking::new("root", "go").offering(&["look"]);
    asked().text(&*find(&recorder)).await;
    for (other, line) in [
        (Asking::new("root", "stop").offering(&["look"]), "+ person: stop"),
        (asked().without_calls(), "+ no tool may be called"),
        (Asking::new("root", "go").offering(&["listen"]), "+ tool: listen {}"),
        (Asking::new("root.a-1", "go").offering(&["look"]), "Nothing was recorded of this agent."),
    ] {
        let error = other.error(&*find(&player(&recorder))).await;
        assert!(error.message.contains(line), "{error}");
    }
    // The nearest is the one of the same turn, if there is one.
    let mut second = asked();
    second.push(say("x"));
    second.text(&*find(&recorder)).await;
    let player_of_both = player(&recorder);
    let error = Asking::new("root", "stop").turn(2).error(&*find(&player_of_both)).await;
    assert!(error.message.contains("The nearest is its turn 2"), "{error}");
    // Which turn it is, is not asked.
    asked().turn(5).text(&*find(&player(&recorder))).await;
}

#[tokio::test]
async fn what_nobody_asked_for_is_told() {
    let replies = [Reply::text("one"), Reply::calls([call("c", "look", json!({}))])];
    let recorder = recorder(Script::new().on("*", replies));
    let mut asking = Asking::new("root.a-10", "go");
    asking.text(&*find(&recorder)).await;
    asking.push(say("one"));
    asking.calls(&*find(&recorder)).await;
    Asking::new("root.a-2", "go").text(&*find(&recorder)).await;
    let player = player(&recorder);
    Asking::new("root.a-10", "go").text(&*find(&player)).await;
    let unused = player.unused().unwrap();
    assert_eq!(&*unused.model, "it.json");
    assert_eq!(
        unused.replies,
        ["turn 1 of `root.a-2`: “one”", "turn 2 of `root.a-10`: calls look"]
    );
}

#[tokio::test]
async fn an_answer_that_was_not_heard_out_goes_no_further() {
    let script = Script::new()
        .on("root.a-1", [Reply::hang().saying("half")])
        .on("root.b-1", [Reply::text("whole"), Reply::hang().saying("half")]);
    let recorder = recorder(script);
    let (a, mut b) = (Asking::new("root.a-1", "go"), Asking::new("root.b-1", "go"));
    let half = Some(Ok(Delta::Text("half".to_owned())));
    assert_eq!(a.stream(&*find(&recorder)).next().await, half);
    b.text(&*find(&recorder)).await;
    b.push(say("whole"));
    assert_eq!(b.stream(&*find(&recorder)).next().await, half);

    let model = find(&player(&recorder));
    let mut cut = a.stream(&*model);
    assert_eq!(cut.next().await, half);
    assert!(cut.next().now_or_never().is_none(), "the tree went on, so this was cut by it");
    let mut stopped = b.stream(&*model);
    assert_eq!(stopped.next().await, half);
    let error = stopped.next().await.unwrap().unwrap_err();
    let message = "it.json ends here: its run was stopped while `root.b-1` waited for an answer in \
                   turn 2";
    assert_eq!((error.trouble, error.message.as_str()), (Trouble::Refused, message));
}

#[tokio::test]
async fn a_conversation_whose_beginning_changed_is_recorded_anew() {
    let recorder = recorder(Script::new().on("*", [Reply::text("one"), Reply::text("two")]));
    let mut long = Asking::new("root", "a long story");
    long.push(results("by 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"));
    let mut short = Asking::new("root", "[shortened]");
    short.push(results("by 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c"));
    for asking in [&long, &short] {
        asking.text(&*find(&recorder)).await;
    }
    assert!(written(&cassette(&recorder)).contains("\"anew\": true"));
    let model = find(&player(&recorder));
    assert_eq!(long.text(&*model).await, "one");
    assert_eq!(short.text(&*model).await, "two");
}

/// A model that says one thing in its own words.
struct Native(ModelInfo, Part);

impl Model for Native {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn stream(
        &self,
        _: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let said = [Delta::Part(self.1.clone()), Delta::Stop(StopReason::Done)];
        stream::iter(said.map(Ok)).boxed()
    }
}

#[tokio::test]
async fn a_models_own_words_are_played_letter_by_letter() {
    let json = r#"{"signature":"EqQB\u003d{cwd}{id:1}","list": [1,2 ]}"#;
    let native = adjutant_core::Native { origin: "a/b".into(), json: json.into() };
    let part = Part::Reasoning { text: String::new(), native: Some(native) };
    let info = Scripted::new(Script::new()).info().clone();
    let model = Arc::new(Native(info, part.clone()));
    let recorder = Recorder::new(Arc::new(Catalogue::new(Pace::Prompt).with("the/model", model)));
    let asking = Asking::new("root", "go");
    asking.hear(&*find(&recorder)).await;
    // Nobody said what it used, so nobody says so now.
    let played = asking.hear(&*find(&player(&recorder))).await;
    assert_eq!(played, [Ok(Delta::Part(part)), Ok(Delta::Stop(StopReason::Done))]);
}
