//! An agent that owes JSON ends with JSON that fits, or says that it does not.

use std::{sync::Arc, time::Duration};

use adjutant_core::{
    Allowance, Cause, Command, Delta, Ending, EventKind, Part, Refusal, StopReason,
};
use adjutant_engine::Unattended;
use adjutant_models::script::Script;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::support::{
    Plan, Reply, Talks, Tree, call, count, is_finished, is_started, path, says, spawn, sub,
};

const FITS: &str = r#"{ "files": [{ "name": "a.rs" }] }"#;
const MINUTE: Duration = Duration::from_secs(60);

/// An object with a list of files, each of which has a name.
fn files() -> Value {
    let file = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    json!({
        "type": "object",
        "properties": { "files": { "type": "array", "items": file } },
        "required": ["files"],
    })
}

async fn begin(answers: impl IntoIterator<Item = Reply>) -> Tree {
    Plan::new(Script::new().on("root", answers)).schema(files()).begin("go").await
}

/// Calls `sub_agent` for JSON.
fn ask(schema: &Value) -> Reply {
    Reply::calls([call("c", "sub_agent", json!({ "prompt": "x", "output_schema": schema }))])
}

#[tokio::test(start_paused = true)]
async fn a_fitting_answer_is_the_json_alone_as_it_was_written() {
    let fenced = format!("```json\n{FITS}\n```");
    for text in [FITS.to_owned(), format!("\n {FITS}\n\n"), fenced] {
        let mut tree = begin([Reply::text(text)]).await;
        let outcome = tree.end().await;
        assert_eq!((outcome.ending, &*outcome.text), (Ending::Completed, FITS));
        assert_eq!((outcome.reason, tree.receipt("root").turns), (None, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_gets_another_turn_and_is_told_why() {
    let table = [
        (r#"{ "files": [{ "name": 5 }] }"#, "at '/files/0/name': want string, but got number"),
        ("{}", "at '': missing properties 'files'"),
        ("Two files.", "it is not JSON: expected value at line 1 column 1"),
        ("", "it is not JSON: EOF"),
        (&format!("Here: {FITS}"), "it is not JSON"),
        (&format!("{FITS} Done."), "it is not JSON: trailing characters"),
        (&format!("Here:\n```json\n{FITS}\n```"), "it is not JSON"),
    ];
    let table = table.map(|(text, why)| (Reply::text(text), why));
    let cut = Reply::text(r#"{ "files": ["#).stopped(StopReason::Length);
    let cut =
        (cut, "it is not JSON: EOF while parsing a list at line 1 column 12; the answer reached");
    for (reply, why) in table.into_iter().chain([cut]) {
        let mut tree = begin([reply, Reply::text(FITS)]).await;
        let outcome = tree.end().await;
        assert_eq!((outcome.ending, &*outcome.text), (Ending::Completed, FITS), "{why}");
        assert_eq!(outcome.reason, None);
        let heard = tree.heard("root");
        assert!(heard[1].contains(why), "{heard:?}");
        assert_eq!((heard.len(), tree.receipt("root").turns), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_mend_its_answer_fails_and_keeps_it() {
    let answers = ["{}", "[]", "null", FITS].map(Reply::text);
    let mut tree = begin(answers.clone()).await;
    let outcome = tree.end().await;
    assert_eq!((outcome.ending, outcome.cause), (Ending::Failed, Some(Cause::Misfit)));
    assert_eq!(outcome.text, "null");
    let reason = outcome.reason.unwrap();
    let expected = "its answer does not fit the schema: at '': want object, but got null";
    assert_eq!((reason.as_str(), tree.receipt("root").turns), (expected, 3));

    let script = Script::new().on("root", answers);
    let plan = Plan::new(script).schema(files()).settings(|settings| settings.schema_repairs = 0);
    let mut tree = plan.begin("go").await;
    assert_eq!((tree.end().await.text.as_str(), tree.receipt("root").turns), ("{}", 1));
}

#[tokio::test(start_paused = true)]
async fn mending_is_paid_like_any_turn_and_last_words_need_not_fit() {
    let one = Allowance { turns: count(1), ..Allowance::default() };
    let table = [
        ("sorry", "sorry", Some("; its last words do not fit the schema: it is not JSON")),
        (&format!("```json\n{FITS}\n```"), FITS, None),
    ];
    for (last, text, misfit) in table {
        let script = Script::new().on("root", [Reply::text("{}"), Reply::text(last)]);
        let mut tree = Plan::new(script).schema(files()).allowance(one).begin("go").await;
        let outcome = tree.end().await;
        assert_eq!((outcome.ending, &*outcome.text), (Ending::BudgetExceeded, text));
        let reason = outcome.reason.unwrap();
        assert_eq!(reason.contains("do not fit"), misfit.is_some(), "{reason}");
        assert!(reason.contains(misfit.unwrap_or_default()), "{reason}");
        let heard = tree.heard("root");
        assert!(heard.last().unwrap().contains("in JSON that fits the schema"), "{heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_schema_that_is_none_is_refused_before_anyone_starts() {
    let table = [
        (json!({ "type": "objct" }), "at '/type': value must be one of 'array'"),
        (json!({ "$ref": "file:///etc/passwd" }), "may refer only to what is in it"),
        (json!({ "$ref": "http://localhost/x" }), "may refer only to what is in it"),
        (json!({ "$ref": "#/$defs/x" }), "#/$defs/x not found"),
    ];
    for (schema, why) in table {
        let script = Script::new().on("root", [ask(&schema), Reply::text("done")]);
        let mut tree = Plan::new(script).begin("go").await;
        tree.end().await;
        let results = tree.results("root");
        assert!(results[0].starts_with("the output schema is no valid JSON Schema: "));
        assert!(results[0].contains(why), "{results:?}");
        assert_eq!(tree.seen.iter().filter(|event| is_started(&event.kind)).count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_root_with_a_schema_that_is_none_does_not_begin() {
    let plan = Plan::new(Script::new().on("root", [Reply::text("done")]));
    let plan = plan.schema(json!({ "type": 5 }));
    let (root, session) = (plan.root(), plan.open().session);
    let begun = session.begin(root, "go".to_owned()).await;
    assert!(matches!(begun, Err(Refusal::BadSchema(_))), "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_told_the_schema_in_every_turn_and_its_children_are_not() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c", "x")]), Reply::text("{}"), Reply::text(FITS)])
        .on("root.sub-1", [Reply::text("in words")])
        .recording();
    let mut tree = Plan::new(script).schema(files()).begin("go").await;
    assert_eq!(tree.end().await.text, FITS);
    let requests = tree.model.requests();
    let of = |name: &str| {
        let agent = path(name);
        let requests = requests.iter().filter(move |seen| seen.agent == agent);
        requests.map(|seen| seen.system.clone()).collect::<Vec<_>>()
    };
    let told = of("root");
    assert!(told[0].starts_with("be brief\n\n"), "{told:?}");
    assert!(told[0].ends_with(&files().to_string()), "{told:?}");
    assert!(told.len() == 3 && told.iter().all(|system| *system == told[0]), "{told:?}");
    assert_eq!(of("root.sub-1"), ["be brief"]);
    assert_eq!(tree.outcome("root.sub-1").text, "in words");
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_told_the_schema() {
    let model = Talks::new(|request| {
        let schema = request.schema.map(Value::to_string).unwrap_or_default();
        let said = [Delta::Part(Part::text(schema)), Delta::Stop(StopReason::Done)];
        stream::iter(said.map(Ok)).boxed()
    });
    let schema = json!({ "type": "object" });
    let arguments = json!({ "prompt": "x", "model": "made", "output_schema": schema });
    let asked = Reply::calls([call("c", "sub_agent", arguments)]);
    let script = Script::new().on("root", [asked, Reply::text("done")]);
    let mut tree = Plan::new(script).model("made", model).begin("go").await;
    tree.end().await;
    assert_eq!(tree.outcome("root.sub-1").text, schema.to_string());
    let order = tree.at("root.sub-1").find_map(|kind| match kind {
        EventKind::Started { order, .. } => order.schema.clone(),
        _ => None,
    });
    assert_eq!(order, Some(Arc::new(schema)));
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_children_work_is_not_the_answer() {
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c", "x")]), Reply::text("waiting"), Reply::text(FITS)])
        .on("root.agent-1", [Reply::text("found").after(MINUTE)]);
    let mut tree = Plan::new(script).schema(files()).begin("go").await;
    assert_eq!(tree.end().await.text, FITS);
    assert_eq!(tree.receipt("root").turns, 3);
}

#[tokio::test(start_paused = true)]
async fn an_agent_hears_what_it_is_told_while_it_mends() {
    let answers = [Reply::text("{}"), Reply::text("[]").after(MINUTE), Reply::text(FITS)];
    let mut tree = begin(answers).await;
    tree.until_at("root", says("missing properties")).await;
    tree.send("root", Command::Say { text: "hurry".to_owned() }).await;
    assert_eq!(tree.end().await.text, FITS);
    assert!(tree.heard("root").contains(&"hurry".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_root_that_stays_may_mend_every_answer() {
    let answers = ["1", "2", FITS, "3", "4", "{ \"files\": [] }"].map(Reply::text);
    let script = Script::new().on("root", answers);
    let mut tree = Plan::new(script).schema(files()).staying().begin("go").await;
    let rests = |kind: &EventKind| *kind == EventKind::Rested || is_finished(kind);
    tree.until_at("root", rests).await;
    tree.send("root", Command::Say { text: "more".to_owned() }).await;
    tree.until_at("root", rests).await;
    tree.send("root", Command::Cancel).await;
    assert_eq!(tree.end().await.text, "{ \"files\": [] }");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_not_end_well_need_not_mend_its_answer() {
    let question = call("q", "ask_user", json!({ "question": "Which?" }));
    let script = Script::new()
        .on("root", [Reply::calls([spawn("c", "x")]), Reply::text("waiting"), Reply::text("{}")])
        .on("root.agent-1", [Reply::calls([question]).after(MINUTE)]);
    let plan = Plan::new(script).schema(files());
    let plan = plan.settings(|settings| settings.unattended = Unattended::Fail);
    let mut tree = plan.begin("go").await;
    assert_eq!(tree.end().await.cause, Some(Cause::Unattended));
    assert_eq!(tree.receipt("root").turns, 3);
}
