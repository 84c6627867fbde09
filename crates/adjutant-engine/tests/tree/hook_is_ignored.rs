//! Hooks run for every agent of the tree, at the right moment, and only one before a call has a
//! say.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    Answer, Command, Effect, Ending, EventKind, Hooks, Mode, Occasion, Scene, ToolError,
};
use adjutant_models::script::Script;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Does, Plan, Reply, Tree, call, has_result, is_finished, sub};

type Say = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// Hooks that write down what they hear of, and say what they are told to.
struct Recorder {
    heard: Mutex<Vec<String>>,
    takes: Duration,
    say: Box<Say>,
}

impl Recorder {
    fn new(say: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Arc<Self> {
        Self::slow(Duration::ZERO, say)
    }

    fn slow(
        takes: Duration,
        say: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { heard: Mutex::default(), takes, say: Box::new(say) })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Hooks for Recorder {
    fn run<'a>(&'a self, scene: Scene<'a>) -> BoxFuture<'a, Result<(), String>> {
        let what = match scene.occasion {
            Occasion::Started { task } => format!("started: {task}"),
            Occasion::Calling(call) => format!("calling {} {}", call.tool, call.arguments),
            Occasion::Called { call, result, failed } => {
                let end = if failed { "failed" } else { "ended" };
                format!("{} {end}: {}", call.tool, result.lines().next().unwrap_or_default())
            }
            Occasion::Ended { outcome } => format!("ended {}: {}", outcome.ending, outcome.text),
        };
        let heard = format!("{} {what}", scene.agent);
        self.heard.lock().unwrap().push(heard.clone());
        Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(self.takes) => (self.say)(&heard),
                () = scene.token.cancelled() => Err("was stopped".to_owned()),
            }
        })
    }
}

fn touch() -> Does {
    Does::new("touch", Effect::Write, |_| Box::pin(async { Ok("touched".to_owned()) }))
}

/// A root, a child and a child of that, each of which touches something.
fn three_levels() -> Script {
    let touches = || call("t", "touch", json!({ "file": "a" }));
    Script::new()
        .on("root", [Reply::calls([touches()]), Reply::calls([sub("s", "middle")])])
        .on("root", [Reply::text("done")])
        .on_task("middle", [Reply::calls([touches(), sub("s", "leaf")]), Reply::text("ok")])
        .on_task("leaf", [Reply::calls([touches()]), Reply::text("down")])
}

async fn run(hooks: &Arc<Recorder>) -> Tree {
    let hooks: Arc<dyn Hooks> = Arc::clone(hooks) as _;
    let mut tree = Plan::new(three_levels()).tool(touch()).hooks(hooks).begin("go").await;
    tree.end().await;
    tree
}

const AGENTS: [(&str, &str); 3] =
    [("root", "go"), ("root.sub-1", "middle"), ("root.sub-1.sub-1", "leaf")];

#[tokio::test(start_paused = true)]
async fn every_agent_has_its_hooks_from_start_to_end() {
    let hooks = Recorder::new(|_| Ok(()));
    let tree = run(&hooks).await;
    let heard = hooks.heard();
    for ((agent, task), text) in AGENTS.iter().zip(["done", "ok", "down"]) {
        let own: Vec<_> =
            heard.iter().filter_map(|it| it.strip_prefix(&format!("{agent} "))).collect();
        let [first, .., last] = own.as_slice() else { panic!("{heard:?}") };
        assert_eq!(*first, format!("started: {task}"));
        assert_eq!(*last, format!("ended completed: {text}"));
        let calling = own.iter().position(|it| *it == r#"calling touch {"file":"a"}"#).unwrap();
        let called = own.iter().position(|it| *it == "touch ended: touched").unwrap();
        assert!(calling < called);
        assert!(tree.receipt(agent).failed_hooks.is_empty());
    }
    assert!(heard.contains(&"root calling sub_agent {\"prompt\":\"middle\"}".to_owned()));
    assert!(heard.contains(&"root.sub-1 sub_agent ended: down".to_owned()), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_before_a_call_denies_it_at_every_level() {
    let hooks = Recorder::new(|heard| match heard.contains("calling touch") {
        true => Err("not on my watch".to_owned()),
        false => Ok(()),
    });
    let tree = run(&hooks).await;
    for (agent, _) in AGENTS {
        let results = tree.results(agent);
        assert!(
            results.contains(&"a hook refused this: not on my watch".to_owned()),
            "{results:?}"
        );
        // What did not run has no end.
        let ends = hooks.heard().into_iter().filter(|it| it.starts_with(&format!("{agent} touch")));
        assert_eq!(ends.count(), 0);
        assert_eq!(tree.outcome(agent).ending, Ending::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_has_no_say_is_noted_when_it_fails_and_changes_nothing() {
    let hooks = Recorder::new(|heard| match heard.contains(" calling ") {
        true => Ok(()),
        false => Err(format!("broke: {}", heard.split(' ').nth(1).unwrap())),
    });
    let tree = run(&hooks).await;
    assert_eq!(tree.outcome("root").text, "done");
    assert_eq!(tree.results("root.sub-1.sub-1"), ["touched"]);
    for (agent, calls) in [("root", 2), ("root.sub-1", 2), ("root.sub-1.sub-1", 1)] {
        let failed = tree.receipt(agent).failed_hooks;
        let mut expected =
            vec!["broke: ended", "broke: started:", "broke: sub_agent", "broke: touch"];
        expected.retain(|it| calls == 2 || !it.contains("sub_agent"));
        assert_eq!(failed.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{agent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_allowed_is_nothing_for_hooks() {
    let hooks = Recorder::new(|_| Ok(()));
    let plan = Plan::new(three_levels()).mode(Mode::Plan).tool(touch());
    let mut tree = plan.hooks(Arc::clone(&hooks) as _).begin("go").await;
    tree.end().await;
    assert!(tree.results("root")[0].starts_with("not allowed"));
    assert!(hooks.heard().iter().all(|heard| !heard.contains("touch")), "{:?}", hooks.heard());
}

#[tokio::test(start_paused = true)]
async fn a_hook_hears_of_a_call_when_a_person_has_allowed_it() {
    let hooks = Recorder::new(|_| Ok(()));
    let script = Script::new()
        .on("root", [Reply::calls([call("t", "touch", json!({}))]), Reply::text("done")]);
    let plan = Plan::new(script).mode(Mode::Ask).tool(touch()).hooks(Arc::clone(&hooks) as _);
    let (mut tree, _attended) = plan.begin_attended("go").await;
    let question = tree.question("root").await;
    assert_eq!(hooks.heard(), ["root started: go"]);
    tree.answer("root", question, Answer::Allow).await;
    tree.end().await;
    assert_eq!(hooks.heard()[1], "root calling touch {}");
    assert_eq!(tree.results("root"), ["touched"]);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_message_do_not_wait_for_each_others_hooks() {
    let hooks = Recorder::slow(Duration::from_secs(1), |_| Ok(()));
    let calls = (0..10).map(|n| call(&n.to_string(), "touch", json!({})));
    let script = Script::new().on("root", [Reply::calls(calls), Reply::text("done")]);
    let plan = Plan::new(script).tool(touch()).hooks(Arc::clone(&hooks) as _);
    let mut tree = plan.begin("go").await;
    tree.end().await;
    // One second each before the start, before the calls, after them, and after the end.
    assert_eq!(tree.receipt("root").millis, 4000);
    assert_eq!(hooks.heard().len(), 22);
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_told_when_its_agent_is_stopped_and_the_call_does_not_run() {
    let hooks = Recorder::slow(Duration::from_secs(600), |_| Ok(()));
    let script = Script::new().on("root", [Reply::calls([call("t", "touch", json!({}))])]);
    let plan = Plan::new(script).tool(touch());
    let mut tree = plan.hooks(Arc::clone(&hooks) as _).begin("go").await;
    tree.until_at("root", |kind| matches!(kind, EventKind::Called { .. })).await;
    tree.send("root", Command::Cancel).await;
    tree.until_at("root", has_result("t")).await;
    assert_eq!(tree.results("root"), ["not run: stopped before it began"]);
    tree.until_at("root", is_finished).await;
    assert_eq!(tree.outcome("root").ending, Ending::Cancelled);
    // The hook at the end runs all the same, and is not stopped.
    let last = hooks.heard().pop().unwrap();
    assert_eq!(last, "root ended cancelled: ");
    assert!(tree.receipt("root").failed_hooks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_breaks_has_an_end_that_hooks_hear_of() {
    let hooks = Recorder::new(|_| Ok(()));
    let bad = Does::new("bad", Effect::Read, |_| Box::pin(async { Err(ToolError("no".into())) }));
    let bomb = Does::new("bomb", Effect::Read, |_| Box::pin(async { panic!("boom") }));
    let calls = ["bad", "bomb"].map(|tool| call(tool, tool, json!({})));
    let script = Script::new().on("root", [Reply::calls(calls), Reply::text("done")]);
    let plan = Plan::new(script).tool(bad).tool(bomb).hooks(Arc::clone(&hooks) as _);
    plan.begin("go").await.end().await;
    let heard = hooks.heard();
    assert!(heard.contains(&"root bad failed: no".to_owned()), "{heard:?}");
    assert!(heard.contains(&"root bomb failed: the tool broke: boom".to_owned()), "{heard:?}");
}
