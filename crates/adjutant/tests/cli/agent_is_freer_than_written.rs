//! What an agent's file holds back and cannot be kept here is refused, not passed over.

use std::fs;

use adjutant_core::{EventKind, Message};

use crate::support::World;

const DONE: &str = "[[reply]]\ntimes = 'any'\ntext = 'done'\n";

fn world(name: &str, text: &str) -> World {
    let world = World::new().script(DONE);
    let file = world.project_directory().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    world
}

/// The commands that say what becomes of a root.
const COMMANDS: [&[&str]; 3] = [
    &["run", "-a", "a", "go"],
    &["run", "-a", "a", "--dry-run", "go"],
    &["permissions", "-a", "a"],
];

#[test]
fn a_root_has_no_worktree_of_its_own_and_says_so() {
    let native = world(".adjutant/agents/a.toml", "system_prompt = 'x'\nisolation = 'worktree'\n");
    for command in COMMANDS {
        let said = native.refused(command);
        assert!(said.contains("a.toml:2: `isolation`: an agent cannot have a worktree"), "{said}");
        assert!(said.contains("have another agent call it"), "{said}");
    }
    let text = "---\nname: a\ndescription: d\nisolation: worktree\n---\nx";
    let foreign = world(".claude/agents/a.md", text);
    for command in COMMANDS {
        let done = foreign.run(command);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let all = done.stdout + &done.stderr;
        assert!(all.contains("a.md:4: dropped: `isolation`: an agent cannot"), "{all}");
        assert!(!all.contains("a git worktree of its own"), "{all}");
    }
}

#[test]
fn a_rule_about_no_tool_there_is_keeps_a_root_from_running() {
    for (list, rule, hint) in [
        ("deny", "run_comand(rm *)", "did you mean `run_command`?"),
        ("deny", "Bash(rm *)", "here it is called `run_command`)"),
        ("only", "Edit(src/**)", "here it is called `edit_file`, `multi_edit`)"),
        ("ask", "qqqqqq", "there are: "),
        ("deny", "mcp__s__look(x)", "write the name of the tool alone"),
    ] {
        let text = format!("system_prompt = 'x'\n[permissions]\n{list} = [\n  '{rule}',\n]\n");
        let world = world(".adjutant/agents/a.toml", &text);
        for command in COMMANDS {
            let said = world.refused(command);
            let place = format!("a.toml:4: `permissions.{list}` has `{rule}`");
            assert!(said.contains(&place) && said.contains(hint), "{said}");
        }
        let checked = world.run(&["agents", "check", "a"]);
        assert_eq!(checked.code, Some(2));
        assert!(checked.stdout.contains(hint.trim_end_matches(')')), "{}", checked.stdout);
    }
    let rules = "system_prompt = 'x'\npermissions.deny = ['run_command(rm *)', 'spawn_agent',\n\
                 'mcp__s__look', '*_file']";
    let world = world(".adjutant/agents/a.toml", rules);
    assert_eq!(world.run(&["run", "-a", "a", "go"]).code, Some(0));
}

#[test]
fn a_rule_about_no_tool_there_is_keeps_a_child_from_being_called() {
    let child = "system_prompt = 'x'\n[permissions]\ndeny = ['Write(src/**)']\n";
    let world = world(".adjutant/agents/child.toml", child).script(
        "[[reply]]\nagent = 'root'\n\
         calls = [{ tool = 'call_agent', args = { agent = 'child', task = 'go' } }]\n\
         [[reply]]\nagent = 'root'\ntext = 'done'\n",
    );
    let done = world.run(&["run", "--events", "--quiet", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let failed = done.events().into_iter().find_map(|event| match event.kind {
        EventKind::Said { message } => match &*message {
            Message::Tools { results } => results.first().cloned(),
            _ => None,
        },
        _ => None,
    });
    let failed = failed.unwrap();
    assert!(failed.failed, "{failed:?}");
    assert!(failed.text.contains("child.toml:3") && failed.text.contains("`write_file`"));
}

#[test]
fn who_cannot_be_called_is_told_of_before_anybody_tries() {
    let boss = "system_prompt = 'x'\nsub_agents = ['b']\n";
    for (wrong, why) in [
        ("workdir = 'none'", "`workdir`"),
        ("[permissions]\ndeny = ['run_comand']", "run_comand"),
        ("skill = 'none'", "`none`"),
    ] {
        let world = world(".adjutant/agents/a.toml", boss);
        let file = world.project_directory().join(".adjutant/agents/b.toml");
        fs::write(file, format!("system_prompt = 'x'\n{wrong}\n")).unwrap();
        let done = world.run(&["run", "-a", "a", "--quiet", "go"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let said = done.stderr;
        assert!(said.contains("`b` cannot be called: ") && said.contains(why), "{said}");
    }
}
