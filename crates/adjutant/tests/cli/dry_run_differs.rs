//! A dry run shows something else than a run sends, or does something.

use std::collections::BTreeMap;

use adjutant_core::EventKind;
use serde_json::Value;

use crate::{
    server::{Act, Server, words},
    support::{Done, World},
};

const LEAD: &str = r#"
description = "Leads"
system_prompt = "Lead about {{topic}}."
sub_agents = ["helper", "lead"]
files = ["notes/*.md"]
timeout = 60

[params]
temperature = 0.5

[output_schema]
type = "object"

[variables]
topic = "files"

[permissions]
deny = ["run_command(git push *)"]

[sub_agents_config]
max_depth = 2
"#;

const HELPER: &str = r#"
description = "Helps"
system_prompt = "Help."
tools = ["read_file", "web_fetch"]
mode = "auto"
sub_agents = ["lead"]

[budget]
max_tokens = 5000
"#;

fn agents(world: World, lead: &str) -> World {
    world
        .file("../../.adjutant/agents/lead.toml", lead)
        .file("../../.adjutant/agents/helper.toml", HELPER)
        .file("notes/a.md", "Note this.")
}

/// Makes a dry run, which leaves nothing behind.
fn dry(world: &World, arguments: &[&str]) -> Done {
    let done = world.run(&[&["run", "--dry-run"], arguments].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!world.data_home().exists(), "something was written: {}", done.stdout);
    done
}

fn report(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&dry(world, &[&["--json"], arguments].concat()).stdout).unwrap()
}

fn names(tools: &Value, name: &str) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|tool| tool.pointer(name).unwrap().as_str().unwrap().to_owned()).collect()
}

/// Compares what a dry run shows with what a server is really sent.
fn compare(lead: Option<&str>, arguments: &[&str]) -> (Value, String) {
    let server = Server::start(vec![Act::Say(words("{}"))]);
    let world = server.set_up(agents(World::new(), lead.unwrap_or_default()));
    let world = world.file("../../AGENTS.md", "Be kind.").stdin("look around");
    let shown = report(&world, arguments);
    let text = dry(&world, arguments).stdout;
    assert_eq!(server.asked().len(), 0, "a dry run asked");
    let done = world.run(&[&["run", "--quiet"], arguments].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let asked = server.asked();
    let body = &asked[0].body;
    let messages = body["messages"].as_array().unwrap();
    let content = |message: &Value| message["content"].as_str().unwrap().to_owned();
    assert_eq!(shown["system"], content(&messages[0]));
    assert_eq!(shown["task"], content(&messages[1]));
    assert_eq!(messages.len(), 2, "{messages:?}");
    for (here, there) in [
        ("/name", "/function/name"),
        ("/description", "/function/description"),
        ("/parameters/type", "/function/parameters/type"),
    ] {
        assert_eq!(names(&shown["tools"], here), names(&body["tools"], there));
    }
    for passage in [content(&messages[0]), content(&messages[1])] {
        assert!(text.contains(&format!("bytes\n{passage}\n")), "{text}");
    }
    (shown, text)
}

#[test]
fn what_is_shown_of_an_agent_is_what_it_sends() {
    let (shown, text) = compare(Some(LEAD), &["-a", "lead", "--param", "topic=birds"]);
    assert_eq!(shown["agent"], "lead");
    assert!(shown["system"].as_str().unwrap().contains("Lead about birds."), "{shown:#}");
    assert!(shown["system"].as_str().unwrap().contains("Note this."), "{shown:#}");
    assert_eq!(shown["params"]["temperature"], 0.5);
    assert_eq!(shown["budget"]["millis"], 60_000);
    assert_eq!((&shown["depth"], &shown["mode"]), (&2.into(), &"ask".into()));
    assert_eq!(shown["rules"]["deny"][0], "run_command(git push *)");
    assert_eq!(shown["output_schema"]["type"], "object");
    assert!(text.contains("deny      run_command(git push *)\n"), "{text}");
}

#[test]
fn what_is_shown_of_a_root_without_a_name_is_what_it_sends() {
    let (shown, _) = compare(Some(LEAD), &["--mode", "plan", "-c", "budget.tokens=90000"]);
    assert_eq!((&shown["agent"], &shown["mode"]), (&Value::Null, &"plan".into()));
    assert_eq!(shown["budget"]["tokens"], 90_000);
}

#[test]
fn what_is_shown_of_a_child_is_what_it_has() {
    let script = "[[reply]]\nagent = 'root'\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'helper', task = 'go on' } }]\n\
                  [[reply]]\ntimes = 'any'\ntext = '{}'\n";
    let lead = LEAD.replacen("timeout", "tools = ['read_file', 'list_dir']\ntimeout", 1);
    let world = agents(World::new().script(script), &lead);
    let shown = report(&world, &["-a", "lead", "go"]);
    let helper = &shown["calls"][0];
    let done = world.run(&["run", "--quiet", "-a", "lead", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let events = world.journal();
    let started: BTreeMap<_, _> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Started { order, tools, mode, model, clamped, .. } => {
                Some((order.name.clone(), (order, tools, mode, model, clamped)))
            }
            _ => None,
        })
        .collect();
    let (order, tools, mode, model, clamped) = &started["helper"];
    assert_eq!(helper["agent"], "helper");
    assert_eq!(names(&helper["tools"], "/name"), **tools);
    assert!(!tools.iter().any(|tool| tool == "web_fetch"), "{tools:?}");
    assert_eq!(helper["mode"], mode.name());
    assert_eq!(helper["model"], ***model);
    assert_eq!(helper["clamped"], serde_json::to_value(clamped).unwrap());
    assert_eq!(clamped.len(), 2, "mode and tools: {clamped:?}");
    assert_eq!(helper["budget"]["tokens"], order.limits.allowance.tokens.unwrap().get());
    assert_eq!(helper["system"], order.instructions.as_deref().unwrap());
    assert_eq!(helper["prompt_bytes"], order.instructions.as_ref().unwrap().len());
    assert_eq!(helper["depth"], 1);
}

#[test]
fn what_holds_above_an_agent_is_shown_to_hold_for_it() {
    let lead = "system_prompt = 'x'\nsub_agents = ['helper']\nsub_agents_config.timeout = 33\n\
                budget.max_tokens = 300000\npermissions.deny = ['run_command(git push *)']";
    let helper = "system_prompt = 'x'\nsub_agents = ['last']\ntimeout = 99\n\
                  budget.max_tokens = 999999999\n\
                  permissions.ask = ['write_file']\npermissions.deny = ['run_command(rm *)']";
    let world = World::new()
        .script("[[reply]]\ntext = 'x'")
        .file(".adjutant/agents/lead.toml", lead)
        .file(".adjutant/agents/helper.toml", helper)
        .file(
            ".adjutant/agents/last.toml",
            "system_prompt = 'x'\nbudget.max_tokens = 50000\nbudget.turns = 7",
        );
    let shown = report(&world, &["-a", "lead", "go"]);
    let (helper, last) = (&shown["calls"][0], &shown["calls"][0]["calls"][0]);
    assert_eq!(helper["budget"], serde_json::json!({ "tokens": 300_000, "millis": 33_000 }));
    let budget = serde_json::json!({ "tokens": 50_000, "millis": 33_000, "turns": 7 });
    assert_eq!(last["budget"], budget);
    assert_eq!(helper["rules_above"]["deny"], serde_json::json!(["run_command(git push *)"]));
    assert_eq!(last["rules_above"]["deny"].as_array().unwrap().len(), 2);
    assert_eq!(last["rules_above"]["ask"], serde_json::json!(["write_file"]));
    let text = dry(&world, &["-a", "lead", "go"]).stdout;
    assert!(text.contains("  deny      run_command(git push *) (of its callers)\n"), "{text}");
}

#[test]
fn all_that_agents_are_told_is_shown() {
    let world = agents(World::new().script("[[reply]]\ntext = 'x'"), LEAD);
    let skill = "---\nname: pdf\ndescription: Reads PDF.\n---\nx";
    let world = world.file(".claude/skills/pdf/SKILL.md", skill);
    let text = dry(&world, &["-a", "lead", "go"]).stdout;
    assert!(text.contains("\nskill\n    Tells how to do something"), "{text}");
    assert!(text.contains("\n    - pdf: Reads PDF.\n"), "{text}");
    assert!(text.contains("\n    - helper: Helps\n"), "{text}");
    assert!(text.contains("\n----- system prompt of helper, "), "{text}");
    assert!(text.contains(" bytes\nHelp.\n"), "{text}");
}

#[test]
fn a_cycle_is_cut_and_said() {
    let world = agents(World::new().script("[[reply]]\ntext = 'x'"), LEAD);
    let shown = report(&world, &["-a", "lead", "go"]);
    let why = "it is above already: as often as depth allows";
    assert_eq!(
        (&shown["calls"][1]["agent"], &shown["calls"][1]["why"]),
        (&"lead".into(), &why.into())
    );
    assert_eq!(shown["calls"][0]["calls"][0]["why"], why);
    let text = dry(&world, &["-a", "lead", "go"]).stdout;
    assert!(text.contains(&format!("    lead: {why}\n")), "{text}");
}

#[test]
fn a_child_that_cannot_be_is_told_of() {
    let world = agents(
        World::new().script("[[reply]]\ntext = 'x'"),
        "system_prompt = 'x'\nsub_agents = ['helper']",
    );
    let world = world
        .file("../../.adjutant/agents/helper.toml", "system_prompt = 'x'\n[variables]\nx = {}\n");
    let shown = report(&world, &["-a", "lead", "go"]);
    let why = shown["calls"][0]["why"].as_str().unwrap();
    assert!(why.contains("its variable `x` has no value"), "{why}");
}

#[test]
fn nothing_is_shown_where_nothing_would_be_sent() {
    let world = agents(World::new().script("[[reply]]\ntext = 'x'"), LEAD);
    let error = world.refused(&["run", "--dry-run", "-c", "budget.tokens=10", "go"]);
    assert!(error.contains("nothing would be sent: "), "{error}");
    for (flag, value) in [("--record", "x"), ("--replay", "x"), ("--events", "--quiet")] {
        world.refused(&["run", "--dry-run", flag, value, "go"]);
    }
}

#[test]
fn a_hook_is_not_run_and_a_worktree_not_made() {
    let world = agents(
        World::new().script("[[reply]]\ntext = 'x'"),
        "system_prompt = 'x'\nsub_agents = ['helper']",
    );
    let world = world.user("[hooks.h]\nevent = 'before_tool'\ncommand = 'touch \"$HOME\"/ran'\n");
    let child = "isolation = 'worktree'\nsystem_prompt = 'x'\n";
    let world = world.file("../../.adjutant/agents/helper.toml", child);
    let shown = report(&world, &["-a", "lead", "go"]);
    assert_eq!(shown["calls"][0]["isolation"], "worktree", "{shown:#}");
    assert!(!world.project_directory().join("../ran").exists());
}

#[cfg(feature = "mcp")]
#[test]
fn a_server_is_not_started_and_its_tools_are_shown_as_a_pattern() {
    let world = agents(
        World::new().script("[[reply]]\ntext = 'x'"),
        "system_prompt = 'x'\nsub_agents = ['helper']",
    );
    let helper = "system_prompt = 'x'\ntools = ['mcp__s__look', 'read_file']\n";
    let world = world
        .file("../../.adjutant/agents/helper.toml", helper)
        .user("[mcp.s]\ncommand = 'sh'\nargs = ['-c', 'touch \"$HOME\"/ran']\neffect = 'read'\n");
    let shown = report(&world, &["-a", "lead", "go"]);
    assert_eq!(shown["servers"], serde_json::json!(["s"]));
    assert!(names(&shown["tools"], "/name").contains(&"mcp__s__*".to_owned()), "{shown:#}");
    let helper = names(&shown["calls"][0]["tools"], "/name");
    assert!(helper.contains(&"mcp__s__look".to_owned()), "{helper:?}");
    assert!(!helper.contains(&"mcp__s__*".to_owned()), "{helper:?}");
    let alone = world
        .file("../../.adjutant/agents/alone.toml", "system_prompt = 'x'\ntools = ['mcp__s__look']");
    let shown = report(&alone, &["-a", "alone", "go"]);
    assert_eq!(names(&shown["tools"], "/name"), ["mcp__s__look"]);
    assert_eq!(shown["servers"], serde_json::json!(["s"]));
    assert!(!alone.project_directory().join("../ran").exists());
}
