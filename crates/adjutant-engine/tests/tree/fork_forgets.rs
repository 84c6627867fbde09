//! A fork knows what its parent knows, in a conversation that can be sent.

use std::sync::Arc;

use adjutant_core::{Context, Effect, EventKind, Message, Order, ToolError, When};
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{Does, Plan, Reply, call, path};

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

#[tokio::test(start_paused = true)]
async fn a_message_to_one_that_has_ended_is_refused() {
    let script = Script::new()
        .on(
            "root",
            [
                Reply::calls([call("s", "agent_spawn", json!({ "prompt": "work" }))]),
                Reply::text("waiting"),
                Reply::calls([call("t", "tell", json!({}))]),
                Reply::text("done"),
            ],
        )
        .on("root.agent-1", [Reply::text("gone")]);
    let mut tree = Plan::new(script).tool(tell(When::Steer)).begin("go").await;
    tree.end().await;
    assert_eq!(tree.results("root")[1], "`root.agent-1` has ended (completed)");
}
