//! What AGENTS.md say does not reach agents, or reaches them although it should not.

use std::{fs, process::Command};

use crate::{support::World, told::Recorded};

/// A root that has a child.
const TREE: &str = r#"
[[reply]]
agent = "root"
turn = 1
calls = [{ tool = "sub_agent", args = { prompt = "look" } }]

[[reply]]
text = "done"
"#;

/// Has a file of the user's, of the project and of the working directory.
fn world() -> World {
    let world = World::new().script(TREE);
    let own = world.user_file().with_file_name("AGENTS.md");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(own, "Say please.").unwrap();
    world.file("../../AGENTS.md", "Use tabs.\n").file("AGENTS.md", "Use spaces.")
}

#[test]
fn every_agent_is_told_the_nearest_last() {
    let recorded = Recorded::new(&world(), &["go"]);
    let system = recorded.system("root");
    let (own, rest) = system.split_once("\n\n---\n\n## AGENTS.md\n\n").unwrap();
    assert!(own.starts_with("You are a careful engineer"), "{own}");
    let places: Vec<_> = ["Say please.", "Use tabs.", "Use spaces."]
        .map(|words| rest.find(words).unwrap_or_else(|| panic!("{words}: {rest}")))
        .into();
    assert!(places.is_sorted(), "{rest}");
    assert_eq!(rest.matches("\n### ").count(), 3, "{rest}");
    assert!(rest.contains("project/AGENTS.md\n\nUse tabs."), "{rest}");
    assert_eq!(recorded.system("root.sub-1"), system);
    assert_eq!(recorded.done.stderr.matches("warning").count(), 0, "{}", recorded.done.stderr);
}

#[test]
fn a_named_agent_is_told_after_its_own() {
    let script = "[[reply]]\nagent = 'root'\nturn = 1\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'look' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let world = world().script(script);
    let world =
        world.file(".adjutant/agents/a.toml", "system_prompt = 'You lead.'\nsub_agents = ['b']");
    let world = world.file(".adjutant/agents/b.toml", "system_prompt = 'You help.'");
    let recorded = Recorded::new(&world, &["-a", "a", "go"]);
    for (agent, own) in [("root", "You lead."), ("root.b-1", "You help.")] {
        let system = recorded.system(agent);
        assert!(system.starts_with(&format!("{own}\n\n---\n\n## AGENTS.md\n\n")), "{system}");
        assert!(system.ends_with("\n\nUse spaces."), "{system}");
    }
}

#[test]
fn whoever_turns_it_off_is_told_nothing() {
    let is_told = |world: &World, flags: &[&str]| {
        Recorded::new(world, &[&["go"], flags].concat()).everything().contains("AGENTS.md")
    };
    assert!(is_told(&world(), &[]));
    assert!(!is_told(&world(), &["-c", "agents_md=false"]));
    assert!(!is_told(&world().user("agents_md = false"), &[]));
    assert!(!is_told(&world().project("agents_md = false"), &[]));
    let refusal =
        world().user("agents_md = false").project("agents_md = true").refused(&["run", "go"]);
    assert!(refusal.contains("agents_md"), "{refusal}");
}

#[test]
fn a_file_that_cannot_be_used_is_warned_of_and_ends_nothing() {
    let world = world().file("../AGENTS.md", "");
    let at = |name: &str| world.working_directory().join(name);
    fs::write(at("AGENTS.md"), b"\xff").unwrap();
    fs::remove_file(at("../AGENTS.md")).unwrap();
    let pipe = Command::new("mkfifo").arg(at("../AGENTS.md")).status().unwrap();
    assert!(pipe.success());
    let recorded = Recorded::new(&world, &["go"]);
    let stderr = &recorded.done.stderr;
    assert!(stderr.contains("deep/AGENTS.md:1: is not UTF-8"), "{stderr}");
    assert!(stderr.contains("src/AGENTS.md: cannot be read: it is no file"), "{stderr}");
    assert!(recorded.system("root").contains("Use tabs."));
}
