//! A child acts inside what its parent may do, and knows what it should know.

use std::time::Duration;

use adjutant_core::{Effect, Ending, EventKind, Mode, Rules, When};
use adjutant_models::script::Script;
use serde_json::json;

use crate::support::{Does, Plan, Reply, call, delegation, path, sub};

fn touch() -> Does {
    Does::new("touch", Effect::Write, |_| Box::pin(async { Ok("touched".to_owned()) }))
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_plans_changes_nothing_at_any_depth() {
    let touches = || call("t", "touch", json!({}));
    let script = Script::new()
        .on("root", [Reply::calls([touches(), sub("c1", "x")]), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([touches()]), Reply::text("tried")]);
    let mut tree = Plan::new(script).mode(Mode::Plan).tool(touch()).begin("go").await;
    tree.end().await;
    let denied = "not allowed: `touch` is denied: writing in mode `plan` of `root`";
    assert_eq!(tree.results("root")[0], denied);
    assert_eq!(tree.results("root.sub-1"), [denied]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_root_holds_for_a_grandchild() {
    let read = || call("r", "read_file", json!({ "path": "Cargo.toml" }));
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "x")]), Reply::text("done")])
        .on("root.sub-1", [Reply::calls([sub("c2", "y")]), Reply::text("ok")])
        .on("root.sub-1.sub-1", [Reply::calls([read()]), Reply::text("refused")]);
    let rules = Rules { deny: vec!["read_file(*.toml)".parse().unwrap()], ..Rules::default() };
    let mut tree = Plan::new(script).rules(rules).begin("go").await;
    tree.end().await;
    let results = tree.results("root.sub-1.sub-1");
    assert!(results[0].contains("rule `read_file(*.toml)` of `root`"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_path_out_of_the_scope_is_asked_about_and_not_read() {
    let read = call("r", "read_file", json!({ "path": "/etc/hostname" }));
    let up = call("u", "read_file", json!({ "path": "../../../../../../../../etc/hostname" }));
    let script = Script::new().on("root", [Reply::calls([read, up]), Reply::text("done")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    for result in tree.results("root") {
        assert!(result.contains("is outside the scope of `root`"), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_has_the_tools_it_was_given_and_can_ask() {
    let order = json!({ "prompt": "x", "tools": ["read_file"] });
    let unknown = json!({ "prompt": "x", "tools": ["read_file", "teleport"] });
    let calls = [call("c1", "sub_agent", order), call("c2", "sub_agent", unknown)];
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done")])
        .on("root.sub-1", [Reply::text("ok")]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let tools = tree.at("root.sub-1").find_map(|kind| match kind {
        EventKind::Started { tools, .. } => Some(tools.clone()),
        _ => None,
    });
    assert_eq!(tools.unwrap(), ["read_file", "ask_user"]);
    let results = tree.results("root");
    assert!(results[1].contains("there is no tool named `teleport`"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_cannot_have_a_tool_it_was_given_says_so() {
    let order = json!({ "prompt": "x", "tools": ["read_file", "sub_agent"] });
    let script = Script::new()
        .on("root", [Reply::calls([call("c1", "sub_agent", order)]), Reply::text("done")])
        .on("root.sub-1", [Reply::text("ok")]);
    let mut tree = Plan::new(script).depth(1).begin("go").await;
    tree.end().await;
    let clamped = "tools ask_user, read_file, sub_agent was cut to ask_user, read_file";
    assert!(tree.results("root")[0].contains(clamped), "{:?}", tree.results("root"));
}

#[tokio::test(start_paused = true)]
async fn tools_may_be_named_as_other_products_do() {
    let list = json!({ "prompt": "x", "tools": ["Read", "grep", "send_message"] });
    let policy = json!({ "policy": "deny_list", "tools": ["Read", "Task"] });
    let others = json!({ "prompt": "y", "tool_access": policy });
    let calls = [call("c1", "sub_agent", list), call("c2", "agent_spawn", others)];
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done"), Reply::text("done")])
        .on("root.*", [Reply::text("ok").always()]);
    let mut tree = Plan::new(script).begin("go").await;
    tree.end().await;
    let tools = |child: &str| {
        let found = tree.at(child).find_map(|kind| match kind {
            EventKind::Started { tools, .. } => Some(tools.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{:?}", tree.results("root")))
    };
    assert_eq!(tools("root.sub-1"), ["read_file", "search_files", "ask_user"]);
    let spawned = tools("root.agent-2");
    assert!(spawned.iter().any(|name| name == "list_dir"), "{spawned:?}");
    assert!(!spawned.iter().any(|name| ["read_file", "sub_agent"].contains(&&**name)));
    let clamped = "tools ask_user, read_file, search_files, send_message was cut to ask_user, \
                   read_file, search_files";
    let results = tree.results("root");
    assert!(results[0].contains(clamped), "nobody is there to be written to: {results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_knows_its_task_and_not_its_parents_conversation() {
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "only this")]), Reply::text("done")])
        .on("root.sub-1", [Reply::text("ok")])
        .recording();
    let mut tree = Plan::new(script).begin("secret plans").await;
    tree.end().await;
    let requests = tree.model.requests();
    let child = requests.iter().find(|seen| seen.agent == path("root.sub-1")).unwrap();
    let texts: Vec<_> = child.messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["only this"]);
    assert_eq!(child.system, "be brief");
}

/// A tool that tries every verb on those beside and above, and reports what happened.
fn pry() -> Does {
    Does::new("pry", Effect::Delegate, |host| {
        Box::pin(async {
            let engine = delegation(host)?;
            let mut tries = vec![format!("{} below", engine.list().len())];
            for agent in ["root", "root.sub-1", "root.sub-2"] {
                let refusals = [
                    engine.status(agent).err(),
                    engine.send(agent, "psst".to_owned(), When::Steer).await.err(),
                    engine.cancel(agent).await.err(),
                    engine.wait(agent).await.err(),
                ];
                let refusal = format!("there is no agent `{agent}` below you");
                let is_refused =
                    |error: &adjutant_core::Refusal| error.to_string().starts_with(&refusal);
                let refused = refusals.iter().flatten().filter(|error| is_refused(error)).count();
                tries.push(format!("{refused} of 4 refused"));
            }
            Ok(tries.join(", "))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_reaches_nobody_beside_or_above_it() {
    let second = Duration::from_secs(1);
    let script = Script::new()
        .on("root", [Reply::calls([sub("c1", "pry"), sub("c2", "work")]), Reply::text("done")])
        .on_task("pry", [Reply::calls([call("p", "pry", json!({}))]).after(second)])
        .on_task("pry", [Reply::text("in vain")])
        .on_task("work", [Reply::text("worked").after(10 * second)]);
    let mut tree = Plan::new(script).tool(pry()).begin("go").await;
    assert_eq!(tree.end().await.ending, Ending::Completed);
    let refused = "0 below, 4 of 4 refused, 4 of 4 refused, 4 of 4 refused";
    assert_eq!(tree.results("root.sub-1"), [refused]);
    assert_eq!(tree.outcome("root.sub-2").text, "worked");
}
