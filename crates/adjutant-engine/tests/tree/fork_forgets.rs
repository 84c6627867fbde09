//! A fork knows what its parent knows, in a conversation that can be sent.

use std::sync::Arc;

use adjutant_core::{
    Context, Effect, EventKind, History, Message, Order, ToolChoice, ToolError, When,
};
use adjutant_engine::ChildInstructions;
use adjutant_models::{Seen, script::Script};
use serde_json::{Value, json};

use crate::support::{Does, Plan, Reply, Tree, call, path};

/// A tool that starts a fork and waits for it.
fn fork() -> Does {
    Does::new("fork", Effect::Delegate, |host| {
        Box::pin(async {
            let (name, task) = ("fork".to_owned(), "go your own way".to_owned());
            let order = Order { name, task, context: Context::Fork, ..Order::default() };
            let engine = host.delegation().ok_or_else(|| ToolError("too deep".to_owned()))?;
            let started = engine.start(order).await?;
            Ok(engine.wait(&started.id.to_string()).await?.outcome.text.clone())
        })
    })
}

fn script() -> Script {
    let both = [call("f", "fork", json!({})), call("l", "list_dir", json!({}))];
    Script::new()
        .on("root", [Reply::calls(both).saying("I split"), Reply::text("done")])
        .on("root.fork-1", [Reply::text("on my way")])
        .recording()
}

#[tokio::test(start_paused = true)]
async fn a_fork_shares_its_parents_conversation_and_every_call_in_it_is_closed() {
    let mut tree = Plan::new(script()).tool(fork()).begin("the long story").await;
    tree.end().await;
    let requests = tree.model.requests();
    let of = |name: &str| requests.iter().find(|seen| seen.agent == path(name)).unwrap();
    let (parent, fork) = (of("root"), of("root.fork-1"));
    assert!(Arc::ptr_eq(&parent.messages[0], &fork.messages[0]), "shared, not copied");
    assert_eq!(fork.messages.len(), 4);
    let Message::Tools { results } = &*fork.messages[2] else { panic!("{:?}", fork.messages) };
    let closed: Vec<_> = results.iter().map(|result| &*result.call).collect();
    assert_eq!(closed, ["f", "l"]);
    assert_eq!(fork.messages[3].text(), "go your own way");
    assert_eq!(fork.tools, parent.tools, "the same list, for the provider's cache");
    let inherited = tree.at("root.fork-1").find_map(|kind| match kind {
        EventKind::Started { inherited, .. } => Some(*inherited),
        _ => None,
    });
    assert_eq!(inherited, Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_fork_at_the_bottom_sees_the_tools_and_may_not_use_them() {
    let script = Script::new()
        .on("root", [Reply::calls([call("f", "fork", json!({}))]), Reply::text("done")])
        .on("root.fork-1", [Reply::calls([call("g", "fork", json!({}))]), Reply::text("alone")])
        .recording();
    let mut tree = Plan::new(script).depth(1).tool(fork()).begin("go").await;
    tree.end().await;
    let requests = tree.model.requests();
    let fork = requests.iter().find(|seen| seen.agent == path("root.fork-1")).unwrap();
    assert!(fork.tools.iter().any(|name| name == "fork"));
    let results = tree.results("root.fork-1");
    assert!(results[0].contains("there may be no agents below `root.fork-1`"), "{results:?}");
}

/// A tool that sends its first child a message.
fn tell(when: When) -> Does {
    Does::new("tell", Effect::Delegate, move |host| {
        Box::pin(async move {
            let engine = host.delegation().ok_or_else(|| ToolError("too deep".to_owned()))?;
            engine.send("root.agent-1", "look here".to_owned(), when).await?;
            Ok("told".to_owned())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_child_is_its_parents_word() {
    let wait = std::time::Duration::from_secs(9);
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([call("s", "agent_spawn", json!({ "prompt": "work" }))]),
                Reply::calls([call("t", "tell", json!({}))]),
                Reply::text("waiting"),
                Reply::text("done"),
            ],
        )
        .on("root.agent-1", [Reply::text("first").after(wait), Reply::text("second")]);
    let mut tree = Plan::new(script).tool(tell(When::Queue)).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let heard = tree.heard("root.agent-1");
    assert_eq!(heard[1], "look here");
    assert_eq!(tree.outcome("root.agent-1").text, "second");
}

/// A root that looks around and then forks with these arguments.
fn forks(arguments: &Value) -> Script {
    let mut order = json!({ "prompt": "go your own way" });
    order.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    let look = |id: &str| Reply::calls([call(id, "list_dir", json!({}))]).saying(id);
    Script::new()
        .on("root", [look("l1"), look("l2"), Reply::calls([call("f", "agent_fork", order)])])
        .on("root", [Reply::text("done").always()])
        .recording()
}

/// Returns what the fork was asked, turn by turn.
fn asked(tree: &Tree) -> Vec<Seen> {
    let requests = tree.model.requests().into_iter();
    requests.filter(|seen| seen.agent == path("root.fork-1")).collect()
}

fn inherited(tree: &Tree) -> (u64, usize) {
    let answer: Value = serde_json::from_str(tree.results("root").last().unwrap()).unwrap();
    let started = tree.at("root.fork-1").find_map(|kind| match kind {
        EventKind::Started { inherited, .. } => Some(*inherited),
        _ => None,
    });
    (answer["messages_inherited"].as_u64().unwrap(), started.unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_fork_may_inherit_the_end_alone_and_no_result_stands_without_its_call() {
    // go, l1, result, l2, result, f, closed: the cut falls before a result or before a call.
    for (last, kept) in [(1, 2), (2, 2), (3, 4), (4, 4), (6, 6), (7, 7), (99, 7)] {
        let script = forks(&json!({ "last_n": last })).on("root.fork-1", [Reply::text("ok")]);
        let mut tree = Plan::new(script).begin("go").await;
        tree.end().await;
        let messages = &asked(&tree)[0].messages;
        let note = usize::from(kept < 7);
        assert_eq!(messages.len(), note + kept + 1, "{last}");
        assert_eq!(inherited(&tree), ((note + kept) as u64, note + kept), "{last}");
        if note == 1 {
            let left_out =
                format!("[from the runtime: {} earlier messages are left out]", 7 - kept);
            assert_eq!(messages[0].text(), left_out);
        }
        let mut calls: Vec<&str> = Vec::new();
        for message in messages {
            if let Message::Tools { results } = &**message {
                assert!(
                    results.iter().all(|it| calls.contains(&&*it.call)),
                    "{last}: {messages:?}"
                );
            }
            calls.extend(message.calls().map(|call| &*call.id));
        }
        let task = messages.last().unwrap().text();
        assert_eq!(task, "go your own way");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_may_inherit_a_summary_which_is_recorded_and_folds_to_what_it_knows() {
    let replies = [Reply::text("they looked twice").last(), Reply::text("on my way")];
    let script = forks(&json!({ "summary": true })).on("root.fork-1", replies);
    let mut tree = Plan::new(script).begin("the long story").await;
    tree.end().await;
    let asked = asked(&tree);
    let [sum_up, turn] = &asked[..] else { panic!("{asked:#?}") };
    let parent = tree.model.requests().into_iter().find(|it| it.agent == path("root")).unwrap();
    assert!(Arc::ptr_eq(&sum_up.messages[0], &parent.messages[0]), "it knows all to begin with");
    assert_eq!((sum_up.choice, turn.choice), (ToolChoice::None, ToolChoice::Free));
    assert_eq!(turn.tools, parent.tools);
    let texts: Vec<_> = turn.messages.iter().map(|message| message.text()).collect();
    let summary = "[from the runtime: a summary of the conversation so far]\nthey looked twice";
    assert_eq!(texts, [summary, "go your own way"]);
    assert_eq!(inherited(&tree), (7, 7));
    let mut history = History::default();
    sum_up.messages[..7].iter().for_each(|message| history.push(Arc::clone(message)));
    tree.at("root.fork-1").for_each(|kind| history.apply(kind));
    let folded: Vec<_> = history.messages().iter().map(|message| message.text()).collect();
    assert_eq!(folded, [summary, "go your own way", "on my way"]);
    let spent = tree.at("root.fork-1").filter(|kind| matches!(kind, EventKind::Spent { .. }));
    assert_eq!(spent.count(), 2, "the summary is paid for");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_says_nothing_takes_no_ones_place() {
    let replies = [Reply::text("").last(), Reply::text("on my way")];
    let script = forks(&json!({ "summary": true })).on("root.fork-1", replies);
    let mut tree = Plan::new(script).begin("the long story").await;
    tree.end().await;
    assert_eq!(asked(&tree)[1].messages.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_summary_and_a_cut_exclude_each_other() {
    let script = forks(&json!({ "summary": true, "last_n": 2 }));
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    assert!(tree.results("root")[2].contains("exclude each other"));
}

#[tokio::test(start_paused = true)]
async fn a_fresh_child_may_be_shown_the_end_of_the_conversation() {
    let order = json!({ "prompt": "judge this", "last_n": 2 });
    let script = Script::new()
        .on("root", [Reply::calls([call("l", "list_dir", json!({}))]).saying("I look")])
        .on("root", [Reply::calls([call("s", "agent_spawn", order)]), Reply::text("x").always()])
        .on("root.agent-1", [Reply::text("ok")])
        .recording();
    let mut tree = Plan::new(script).begin("the secret plan").await;
    tree.end().await;
    let requests = tree.model.requests();
    let child = requests.iter().find(|seen| seen.agent == path("root.agent-1")).unwrap();
    assert_eq!(child.messages.len(), 1, "told, not lived through");
    let task = child.messages[0].text();
    assert!(task.starts_with("judge this\n\n[from the runtime: the last 2 messages"), "{task}");
    assert!(task.contains("I look\n[calls list_dir {}]") && task.contains("<results>"), "{task}");
    assert!(!task.contains("the secret plan") && !task.contains("agent_spawn"), "{task}");
}

#[tokio::test(start_paused = true)]
async fn a_fork_goes_on_as_its_parent_whatever_others_are_told() {
    let script = script();
    let plan = Plan::new(script).tool(fork());
    let plan = plan.settings(|settings| settings.child_instructions = ChildInstructions::None);
    let mut tree = plan.begin("the long story").await;
    tree.end().await;
    let requests = tree.model.requests();
    let of = |name: &str| requests.iter().find(|seen| seen.agent == path(name)).unwrap();
    assert_eq!(of("root").system, "be brief");
    assert_eq!(of("root.fork-1").system, of("root").system);
}
