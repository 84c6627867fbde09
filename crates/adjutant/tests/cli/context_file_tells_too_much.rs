//! A file that an agent is told before its task is one it may not see.

use std::os::unix::fs::symlink;

use crate::{support::World, told::Recorded};

fn world(agent: &str) -> World {
    let world = World::new().script("[[reply]]\ntext = 'done'");
    let world = world.file(".adjutant/agents/a.toml", agent).file("src/a.rs", "fn a() {}\n");
    world.file("secret.md", "hidden words").file("../outside.md", "hidden words")
}

#[test]
fn what_a_rule_forbids_to_read_is_left_out_and_named() {
    let agent = "system_prompt = 'x'\nfiles = ['**']\ntools = []\n";
    let recorded = Recorded::new(&world(agent), &["-a", "a", "go"]);
    assert!(recorded.system("root").contains("hidden words"));
    let denied = world(agent).user("permissions.deny = ['read_file(secret*)']");
    symlink("../outside.md", denied.working_directory().join("link.md")).unwrap();
    let recorded = Recorded::new(&denied, &["-a", "a", "go"]);
    assert!(!recorded.everything().contains("hidden words"));
    let expected = "x\n\n---\n\n## Context Files\n\n### src/a.rs\n\n```rs\nfn a() {}\n```\n\n\
                    Left out:\n- link.md: it leads out of the directory\n\
                    - secret.md: it may not be read without a question";
    assert_eq!(recorded.system("root"), expected);
}

#[test]
fn what_an_agents_own_file_forbids_it_is_not_told_as_a_child_either() {
    let agent =
        "files = ['*.md']\npermissions.deny = ['read_file(secret*)']\nsystem_prompt = 's'\n";
    let script = "[[reply]]\nagent = 'root'\nturn = 1\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'a', task = 'look' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let world = world(agent)
        .script(script)
        .file(".adjutant/agents/b.toml", "sub_agents = ['a']\nsystem_prompt = 's'");
    let recorded = Recorded::new(&world, &["-a", "b", "go"]);
    assert!(recorded.system("root.a-1").contains("- secret.md: it may not be read"));
    assert!(!recorded.everything().contains("hidden words"));
}
