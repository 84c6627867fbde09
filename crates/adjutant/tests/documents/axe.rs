//! What the axe preset promises.

use std::{num::NonZeroU64, sync::Arc};

use adjutant::core::{
    Allowance, Caller, Definitions, EventKind, Limits, Listed, ModelError, Order, Trouble,
};
use adjutant_models::script::{Call, Reply, Script, call};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    support::World,
    tree::{Plan, Tree},
};

/// Agents by name, and who may call whom.
struct Book(&'static [(Option<&'static str>, &'static [&'static str])]);

/// A root that may call two, one of which may call a third, and so on down.
const BOOK: Book = Book(&[
    (None, &["test-runner", "lint-checker"]),
    (Some("test-runner"), &["deep-1"]),
    (Some("deep-1"), &["deep-2"]),
    (Some("deep-2"), &["deep-3"]),
    (Some("deep-3"), &["deep-4"]),
    (Some("deep-4"), &["deep-5"]),
]);

impl Definitions for Book {
    fn callable(&self, caller: Option<&str>) -> Vec<Listed> {
        let list = self.0.iter().find(|(name, _)| *name == caller).map(|(_, list)| *list);
        let listed = |name: &&str| Listed {
            name: (*name).to_owned(),
            description: format!("does what a {name} does"),
        };
        list.unwrap_or_default().iter().map(listed).collect()
    }

    fn order<'a>(&'a self, _: Caller<'a>, name: &'a str) -> BoxFuture<'a, Result<Order, String>> {
        let mut order = Order { name: name.to_owned(), ..Order::default() };
        order.instructions = Some(format!("You are a {name}."));
        if name == "lint-checker" {
            let allowance = Allowance { millis: NonZeroU64::new(9000), ..Allowance::default() };
            order.limits = Limits { allowance, ..Limits::default() };
        }
        Box::pin(async { Ok(order) })
    }
}

fn calls(id: &str, agent: &str) -> Call {
    call(id, "call_agent", json!({ "agent": agent, "task": "run the tests" }))
}

fn plan(book: Book, script: Script) -> Plan {
    Plan { preset: "axe", flags: &[], definitions: Some(Arc::new(book)), script }
}

/// Has the root make these calls at once.
async fn run(book: Book, script: Script, calls: Vec<Call>) -> Tree {
    let script = script.on("root", [Reply::calls(calls), Reply::text("done")]);
    let mut tree = plan(book, script).begin().await;
    assert_eq!(tree.end().await.text, "done");
    tree
}

fn child(replies: impl IntoIterator<Item = Reply>) -> Script {
    Script::new().on("root.test-runner-1", replies)
}

#[tokio::test(start_paused = true)]
async fn the_tool_is_offered_with_the_agents_there_are() {
    let tree = run(BOOK, Script::new(), vec![call("l", "list_dir", json!({}))]).await;
    let offer = tree.asked("root").offer("call_agent").unwrap().clone();
    let expected = "Delegate a task to a sub-agent. The sub-agent runs independently with its own \
                    context and returns only its final result. Available agents:\n\
                    - test-runner: does what a test-runner does\n\
                    - lint-checker: does what a lint-checker does";
    assert_eq!(offer.description, expected);
    let parameters = json!({
        "type": "object",
        "properties": {
            "agent": {
                "type": "string",
                "description": "Name of the sub-agent (must be in this agent's sub_agents list).",
                "enum": ["test-runner", "lint-checker"],
            },
            "task": { "type": "string", "description": "What you need the sub-agent to do." },
            "context": {
                "type": "string",
                "description": "Additional context from your conversation to pass along.",
            },
        },
        "required": ["agent", "task"],
        "additionalProperties": false,
    });
    assert_eq!(offer.parameters, parameters);
    let others = adjutant_tools::DELEGATION_TOOLS.iter().filter(|name| **name != "call_agent");
    let others: Vec<_> = others.filter(|name| tree.asked("root").offer(name).is_some()).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test(start_paused = true)]
async fn who_may_call_nobody_is_not_offered_it_and_cannot_use_it() {
    let tree = run(Book(&[]), Script::new(), vec![calls("c", "test-runner")]).await;
    assert!(tree.asked("root").offer("call_agent").is_none());
    let result = &tree.results("root")[0];
    assert!(result.failed && result.text.contains("there is no tool named `call_agent`"));
    let world = World::new().script("[[reply]]\ntext = 'done'");
    let done = world.run(&["run", "-c", "preset=axe", "--events", "go"]);
    assert!(done.stdout.contains(r#""event":"started""#), "{}", done.stderr);
    assert!(!done.stdout.contains("_agent\""), "{}", done.stdout);
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_called_by_those_who_have_it_on_their_list() {
    let script = child([Reply::calls([calls("d", "lint-checker")]), Reply::text("alone")]);
    let all = ["test-runner", "deep-1", "nobody"].map(|agent| calls(agent, agent));
    let tree = run(BOOK, script, all.to_vec()).await;
    let results = tree.results("root");
    assert_eq!((results[0].text.as_str(), results[0].failed), ("alone", false));
    let not = |agent: &str, list: &str| {
        format!("agent \"{agent}\" is not in this agent's sub_agents list; there are: {list}")
    };
    let roots = "test-runner, lint-checker";
    assert_eq!((&results[1].text, results[1].failed), (&not("deep-1", roots), true));
    assert_eq!((&results[2].text, results[2].failed), (&not("nobody", roots), true));
    let results = tree.results("root.test-runner-1");
    assert_eq!(results[0].text, not("lint-checker", "deep-1"));
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_refused_before_anybody_starts() {
    let wrong = [
        (json!({ "agent": "test-runner" }), "missing field `task`"),
        (json!({ "task": "x" }), "missing field `agent`"),
        (json!({ "agent": "test-runner", "task": " " }), "the prompt is empty"),
        (json!({ "agent": "test-runner", "task": "x", "model": "m" }), "unknown field `model`"),
    ];
    let all = wrong.iter().enumerate();
    let all = all.map(|(id, (args, _))| call(&id.to_string(), "call_agent", args.clone()));
    let tree = run(BOOK, Script::new(), all.collect()).await;
    for (result, (_, expected)) in tree.results("root").iter().zip(&wrong) {
        assert!(result.failed && result.text.contains(expected), "{}", result.text);
    }
    assert!(tree.seen.iter().all(|event| event.path.depth() == 0));
}

#[tokio::test(start_paused = true)]
async fn the_sub_agent_has_its_own_prompt_and_the_task_and_nothing_of_the_conversation() {
    for (context, expected) in [
        (json!("the build\nis red"), "Task: look\n\nContext:\nthe build\nis red"),
        (Value::Null, "Task: look"),
        (json!(" "), "Task: look"),
    ] {
        let mut arguments = json!({ "agent": "test-runner", "task": "look" });
        if !context.is_null() {
            arguments["context"] = context;
        }
        let script = child([Reply::text("seen")]);
        let tree = run(BOOK, script, vec![call("c", "call_agent", arguments)]).await;
        let asked = tree.asked("root.test-runner-1");
        assert_eq!(asked.system, "You are a test-runner.");
        let texts: Vec<_> = asked.messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts, [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_parent_gets_the_final_text_and_nothing_else() {
    let look = [call("l", "list_dir", json!({}))];
    let replies = [Reply::calls(look).saying("Let me see."), Reply::text("All tests pass.")];
    let tree = run(BOOK, child(replies), vec![calls("c", "test-runner")]).await;
    let results = tree.results("root");
    assert_eq!((results[0].text.as_str(), results[0].failed), ("All tests pass.", false));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_in_its_form_and_the_parent_goes_on() {
    let failed = |why: &str| {
        format!(
            "Error: sub-agent \"test-runner\" failed — {why}. You may retry or proceed without \
             this result."
        )
    };
    let down = ModelError::new(Trouble::Refused, "the API is down.");
    for (reply, expected) in [
        (Reply::error(down), failed("the model failed: the API is down")),
        (Reply::hang().always(), failed("timeout after 120s")),
    ] {
        let tree = run(BOOK, child([reply]), vec![calls("c", "test-runner")]).await;
        let results = tree.results("root");
        assert_eq!((&results[0].text, results[0].failed), (&expected, true));
    }
    let found = child([Reply::hang(), Reply::text("Half of them pass.").last()]);
    let tree = run(BOOK, found, vec![calls("c", "test-runner")]).await;
    let expected = failed("timeout after 120s") + "\n\nWhat it had found:\nHalf of them pass.";
    assert_eq!(tree.results("root")[0].text, expected);
}

/// Returns how much time an agent was given, in milliseconds.
fn time(tree: &Tree, agent: &str) -> Option<u64> {
    let order = tree.at(agent).find_map(|kind| match kind {
        EventKind::Started { order, .. } => Some(order),
        _ => None,
    });
    order.unwrap().limits.allowance.millis.map(NonZeroU64::get)
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_has_two_minutes_unless_it_says_otherwise() {
    let script = child([Reply::text("a")]).on("root.lint-checker-2", [Reply::text("b")]);
    let both = vec![calls("c", "test-runner"), calls("d", "lint-checker")];
    let tree = run(BOOK, script, both).await;
    assert_eq!(time(&tree, "root.test-runner-1"), Some(120_000));
    assert_eq!(time(&tree, "root.lint-checker-2"), Some(9000));
}

/// Goes down from agent to agent, and returns how deep it came and what the last was told.
async fn descend(flags: &'static [(&'static str, &'static str)]) -> (usize, String) {
    let next = ["test-runner", "deep-1", "deep-2", "deep-3", "deep-4", "deep-5"];
    let (mut script, mut path) = (Script::new(), "root".to_owned());
    for agent in next {
        script = script.on(&path, [Reply::calls([calls("c", agent)]), Reply::text("done")]);
        path = format!("{path}.{agent}-1");
    }
    let mut tree = Plan { flags, ..plan(BOOK, script) }.begin().await;
    tree.end().await;
    let deepest = tree.seen.iter().map(|event| &event.path).max_by_key(|path| path.depth());
    let deepest = deepest.unwrap().clone();
    assert!(tree.asked(deepest.as_str()).offer("call_agent").is_none(), "{deepest}");
    assert!(tree.asked(deepest.parent().unwrap().as_str()).offer("call_agent").is_some());
    (deepest.depth(), tree.results(deepest.as_str())[0].text.clone())
}

#[tokio::test(start_paused = true)]
async fn agents_nest_three_deep_and_never_more_than_five() {
    let refusal = |limit| {
        let why = if limit == 1 { "sub-agents may not start others here, " } else { "" };
        format!("Maximum sub-agent depth ({limit}) exceeded: {why}do the task yourself")
    };
    assert_eq!(descend(&[]).await, (3, refusal(3)));
    assert_eq!(descend(&[("limits.max_depth", "1")]).await, (1, refusal(1)));
    assert_eq!(descend(&[("limits.max_depth", "5")]).await, (5, refusal(5)));
    let error =
        World::new().refused(&["run", "-c", "preset=axe", "-c", "limits.max_depth=6", "go"]);
    assert!(error.contains("limits.max_depth"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn calls_in_one_message_run_side_by_side_and_their_results_keep_the_order() {
    let slow = Reply::text("first").after(std::time::Duration::from_secs(9));
    let script = child([slow]).on("root.lint-checker-2", [Reply::text("second")]);
    let both = vec![calls("c", "test-runner"), calls("d", "lint-checker")];
    let tree = run(BOOK, script, both).await;
    let results: Vec<_> = tree.results("root").into_iter().map(|result| result.text).collect();
    assert_eq!(results, ["first", "second"]);
    let order = tree.seen.iter().filter_map(|event| match event.kind {
        EventKind::Started { .. } => Some((event.path.as_str(), "started")),
        EventKind::Finished { .. } => Some((event.path.as_str(), "finished")),
        _ => None,
    });
    let order: Vec<_> = order.collect();
    let expected = [
        ("root", "started"),
        ("root.test-runner-1", "started"),
        ("root.lint-checker-2", "started"),
        ("root.lint-checker-2", "finished"),
        ("root.test-runner-1", "finished"),
        ("root", "finished"),
    ];
    assert_eq!(order, expected);
}
