//! Which model a child runs on, and which it may.

use serde_json::{Value, json};

use super::{calls, ends, fork, script, spawn, walk, walk_in};
use crate::{
    shared::server::{Act, Chat, Format, Messages, Server},
    support::World,
};

/// Has the root start a child on a provider's server, and returns the model that was asked for and
/// who chose it.
fn ran_on(format: &'static dyn Format, call: (&str, Value), more: &[&str]) -> (Value, Value) {
    let server = Server::strict(format, vec![Act::Say(format.words("ok"))]);
    let world = World::new().variable("ANTHROPIC_API_KEY", "unused");
    let world = script(server.set_up(world), &[calls("root", &[call]), ends()]);
    let default = ["-c", "sub_agents.default_provider=anthropic"];
    let walk = walk_in(&world, &[&default, more].concat());
    let started = walk.started("root.agent-1");
    let (provider, answer) = (format.provider().0, walk.answer(0));
    assert_eq!(answer["provider"], provider);
    let name = format!("{provider}/{}", answer["model"].as_str().unwrap());
    assert_eq!(started["model"], name);
    (answer["model"].clone(), started["chosen"].clone())
}

#[test]
fn provider_and_model_are_the_calls_the_configurations_or_the_lists_first() {
    let (configured, named) = (json!("configured"), json!("named"));
    let haiku = ["-c", "sub_agents.default_model=claude-haiku-4-5"];
    let run = |format, args, more| ran_on(format, spawn(args), more);
    let table = [
        (run(&Messages, json!({}), &[][..]), "claude-sonnet-5-5", &configured),
        (run(&Messages, json!({}), &haiku[..]), "claude-haiku-4-5", &configured),
        (run(&Messages, json!({ "provider": "anthropic" }), &[]), "claude-sonnet-5-5", &named),
        (run(&Messages, json!({ "provider": "anthropic" }), &haiku), "claude-haiku-4-5", &named),
        (run(&Messages, json!({ "model": "claude-sonnet-4-5" }), &[]), "claude-sonnet-4-5", &named),
        (run(&Chat, json!({ "provider": "openai" }), &[]), "gpt-5.6-terra", &named),
        (run(&Chat, json!({ "provider": "openai" }), &haiku), "gpt-5.6-terra", &named),
        (
            run(&Chat, json!({ "provider": "openai", "model": "gpt-5-mini" }), &[]),
            "gpt-5-mini",
            &named,
        ),
    ];
    for (place, ((model, chosen), expected, who)) in table.iter().enumerate() {
        assert_eq!((model, chosen), (&json!(expected), *who), "{place}");
    }
}

#[test]
fn a_model_that_is_not_listed_is_refused_to_spawned_agents_and_to_forks() {
    let wanted = [
        json!({ "model": "gpt-4" }),
        json!({ "provider": "openai", "model": "claude-sonnet-4-5" }),
        json!({ "provider": "mistral" }),
    ];
    let all = wanted.iter().flat_map(|args| [spawn(args.clone()), fork(args.clone())]);
    let all: Vec<_> = all.collect();
    let more = ["-c", "sub_agents.default_provider=openai"];
    let walk = walk(&[calls("root", &all), ends()], &more);
    let names = ["openai/gpt-4", "openai/claude-sonnet-4-5", "mistral"];
    for (place, name) in names.iter().flat_map(|name| [name, name]).enumerate() {
        let error = walk.error(place);
        assert!(error.starts_with(&format!("sub-agents may not run on `{name}`: ")), "{error}");
        assert!(error.contains("`openai/gpt-5-mini`"), "it is told which may be: {error}");
    }
    assert!(walk.events.iter().all(|event| event.path.depth() == 0));
}

#[test]
fn the_list_of_the_configuration_takes_the_place_of_the_default_one() {
    let own = ["-c", "sub_agents.models=['anthropic/claude-x', 'anthropic/claude-y']"];
    let first = ran_on(&Messages, spawn(json!({})), &own);
    assert_eq!(first.0, "claude-x");
    let call = spawn(json!({ "provider": "anthropic", "model": "claude-sonnet-4-5" }));
    let walk = walk(&[calls("root", &[call]), ends()], &own);
    let expected = "choose one of `anthropic/claude-x`, `anthropic/claude-y`";
    assert!(walk.error(0).contains(expected), "{}", walk.error(0));
}

#[test]
fn a_provider_that_cannot_be_used_is_an_error_the_model_can_act_on() {
    let default = ["-c", "sub_agents.default_provider=anthropic"];
    let wanted = [spawn(json!({})), fork(json!({})), spawn(json!({ "provider": "gemini" }))];
    let walk = walk(&[calls("root", &wanted), ends()], &default);
    for (place, key) in
        ["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"].iter().enumerate()
    {
        assert!(walk.error(place).contains(key), "{}", walk.error(place));
    }
    assert_eq!(walk.outcome("root").text, "done");
}
