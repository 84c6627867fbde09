//! A child runs on a model that may be named for it, or on its parent's.

use adjutant_core::{AllowedModel, Chosen, Effect, EventKind, Order};
use adjutant_models::{Scripted, script::Script};
use serde_json::{Value, json};

use crate::support::{Does, Plan, Reply, Tree, call, delegation, is_started, sub};

/// A model that says its name is `scripted/` and this.
fn model(name: &str) -> Scripted {
    Scripted::new(Script::new().named(name).on("*", [Reply::text("ok").always()]))
}

/// Has models of two providers; the root's is `scripted`.
fn plan(script: Script, allowed: &[&str]) -> Plan {
    let allowed: Vec<AllowedModel> = allowed.iter().map(|name| name.parse().unwrap()).collect();
    Plan::new(script)
        .model("near/large", model("near-large"))
        .model("near/small", model("near-small"))
        .model("far/small", model("far-small"))
        .model("far/near/small", model("far-near-small"))
        .model("scripted/small", model("own-small"))
        .model("word", model("word"))
        .settings(|settings| settings.allowed_models = allowed.into_iter().collect())
}

async fn spawn(allowed: &[&str], arguments: Value) -> Tree {
    let mut order = json!({ "prompt": "x" });
    order.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    let spawned = Reply::calls([call("c", "agent_spawn", order)]);
    let script = Script::new()
        .on("root", [spawned, Reply::text("done"), Reply::text("done")])
        .on("root.agent-1", [Reply::text("ok")]);
    let mut tree = plan(script, allowed).begin("go").await;
    tree.end().await;
    tree
}

/// Returns the model a child ran on, or why there is none.
fn ran_on(tree: &Tree, child: &str) -> Result<String, String> {
    let model = tree.at(child).find_map(|kind| match kind {
        EventKind::Started { model, .. } => Some(model.to_string()),
        _ => None,
    });
    model.ok_or_else(|| tree.results("root").concat())
}

#[tokio::test(start_paused = true)]
async fn a_model_is_found_by_its_provider_and_its_name() {
    let near = ["near/large", "near/small"];
    let table: [(&[&str], Value, &str); 10] = [
        (&[], json!({}), "scripted/script"),
        (&[], json!({ "model": "near/small" }), "scripted/near-small"),
        (&[], json!({ "provider": "near", "model": "small" }), "scripted/near-small"),
        (&[], json!({ "provider": "near", "model": "near/small" }), "scripted/near-small"),
        (&[], json!({ "provider": "far", "model": "near/small" }), "scripted/far-near-small"),
        (&[], json!({ "model": "small" }), "scripted/own-small"),
        (&[], json!({ "model": "word" }), "scripted/word"),
        (&[], json!({ "provider": "scripted" }), "scripted/script"),
        (&near, json!({ "provider": "near" }), "scripted/near-large"),
        (&["near/*", "near/small"], json!({ "provider": "near" }), "scripted/near-small"),
    ];
    for (allowed, arguments, expected) in table {
        let tree = spawn(allowed, arguments.clone()).await;
        assert_eq!(ran_on(&tree, "root.agent-1").as_deref(), Ok(expected), "{arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_alone_is_not_enough_where_nothing_is_listed() {
    for (provider, expected) in [
        ("near", "say which model of `near` it is to be"),
        ("zzz", "there is no provider `zzz`; there are: anthropic, "),
    ] {
        let tree = spawn(&[], json!({ "provider": provider })).await;
        let why = ran_on(&tree, "root.agent-1").unwrap_err();
        assert!(why.starts_with(expected), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_listed_is_refused_with_those_that_are() {
    let allowed = ["near/la*", "far/small"];
    let table = [
        (json!({ "model": "near/small" }), "near/small"),
        (json!({ "provider": "near", "model": "small" }), "near/small"),
        (json!({ "model": "small" }), "scripted/small"),
        (json!({ "model": "word" }), "word"),
        (json!({ "model": "scripted//etc/passwd" }), "scripted//etc/passwd"),
        (json!({ "provider": "near" }), "near"),
        (json!({ "provider": "other" }), "other"),
    ];
    for (arguments, name) in table {
        let tree = spawn(&allowed, arguments).await;
        let expected = format!(
            "sub-agents may not run on `{name}`: choose one of `near/la*`, `far/small`, or leave \
             it out to use yours"
        );
        assert_eq!(ran_on(&tree, "root.agent-1"), Err(expected));
        assert_eq!(tree.seen.iter().filter(|event| is_started(&event.kind)).count(), 1);
    }
    for (arguments, model) in [
        (json!({ "model": "near/large" }), "scripted/near-large"),
        (json!({ "model": "far/small" }), "scripted/far-small"),
        (json!({}), "scripted/script"),
    ] {
        let tree = spawn(&allowed, arguments).await;
        assert_eq!(ran_on(&tree, "root.agent-1").as_deref(), Ok(model));
    }
}

#[tokio::test(start_paused = true)]
async fn the_list_holds_for_grandchildren_too() {
    let deeper = |model: &str| call("d", "sub_agent", json!({ "prompt": "y", "model": model }));
    let script = Script::new().on("root", [Reply::calls([sub("c", "x")]), Reply::text("done")]).on(
        "root.sub-1",
        [
            Reply::calls([deeper("near/small")]),
            Reply::calls([deeper("far/small")]),
            Reply::text("done"),
        ],
    );
    let mut tree = plan(script, &["far/small"]).begin("go").await;
    tree.end().await;
    assert!(tree.results("root.sub-1")[0].starts_with("sub-agents may not run on `near/small`"));
    assert_eq!(ran_on(&tree, "root.sub-1.sub-1").as_deref(), Ok("scripted/far-small"));
}

fn chosen(tree: &Tree, child: &str) -> Chosen {
    let chosen = tree.at(child).find_map(|kind| match kind {
        EventKind::Started { chosen, .. } => Some(*chosen),
        _ => None,
    });
    chosen.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_start_says_who_chose_the_model() {
    let (near, small) = (Some("near".to_owned()), Some("small".to_owned()));
    let large = Some("near/large".to_owned());
    let table = [
        (None, None, json!({}), "script", Chosen::Inherited),
        (None, None, json!({ "provider": "scripted" }), "script", Chosen::Inherited),
        (None, None, json!({ "model": "near/small" }), "near-small", Chosen::Named),
        (None, large.clone(), json!({}), "near-large", Chosen::Configured),
        (near.clone(), small.clone(), json!({}), "near-small", Chosen::Configured),
        (near.clone(), None, json!({ "model": "small" }), "near-small", Chosen::Named),
        (near.clone(), small.clone(), json!({ "provider": "near" }), "near-small", Chosen::Named),
        (near.clone(), small, json!({ "model": "large" }), "near-large", Chosen::Named),
        (None, large, json!({ "provider": "near" }), "near-large", Chosen::Named),
        (near, None, json!({ "model": "far/small" }), "far-small", Chosen::Named),
    ];
    for (provider, model, arguments, expected, who) in table {
        let mut order = json!({ "prompt": "x" });
        order.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let script = Script::new()
            .on("root", [Reply::calls([call("c", "agent_spawn", order)])])
            .on("root", [Reply::text("done").always()])
            .on("root.agent-1", [Reply::text("ok")]);
        let plan = self::plan(script, &[]).settings(|settings| {
            (settings.child_provider, settings.child_model) = (provider, model);
        });
        let mut tree = plan.begin("go").await;
        tree.end().await;
        let expected = format!("scripted/{expected}");
        assert_eq!(ran_on(&tree, "root.agent-1").as_ref(), Ok(&expected), "{arguments}");
        assert_eq!(chosen(&tree, "root.agent-1"), who, "{arguments}");
        assert_eq!(chosen(&tree, "root"), Chosen::Named);
    }
}

/// A tool that starts a named agent with a model of its own.
fn defined() -> Does {
    Does::new("defined", Effect::Delegate, |host| {
        Box::pin(async {
            let (name, task) = ("named".to_owned(), "x".to_owned());
            let (agent, model) = (Some("reviewer".to_owned()), Some("near/small".to_owned()));
            let order = Order { name, task, agent, model, ..Order::default() };
            let engine = delegation(host)?;
            let id = engine.start(order).await?.id.to_string();
            Ok(engine.wait(&id).await?.outcome.text.clone())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn the_model_of_a_named_agent_is_its_definitions() {
    let script = Script::new()
        .on("root", [Reply::calls([call("d", "defined", json!({}))]), Reply::text("done")]);
    let mut tree = plan(script, &[]).tool(defined()).begin("go").await;
    tree.end().await;
    assert_eq!(chosen(&tree, "root.named-1"), Chosen::Defined);
    assert_eq!(ran_on(&tree, "root.named-1").as_deref(), Ok("scripted/near-small"));
}
