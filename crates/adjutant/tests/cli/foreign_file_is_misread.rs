//! Files of other products make nobody freer than they say.

use std::{fs, path::PathBuf};

use crate::{support::World, told::Recorded};

fn home(world: &World) -> PathBuf {
    world.project_directory().parent().unwrap().to_owned()
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_scoped_command_brings_no_other_along() {
    let script = "[[reply]]\n\
                  calls = [{ tool = 'run_command', args = { command = 'touch a && echo x' } }]\n\
                  [[reply]]\n\
                  calls = [{ tool = 'run_command', args = { command = 'echo x && touch b' } }]\n\
                  [[reply]]\n\
                  calls = [{ tool = 'run_command', args = { command = 'touch c' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let world = World::new().script(script);
    let agent = "---\nname: toucher\ndescription: d\ntools: Bash(touch *)\n---\nTouch.\n";
    write(home(&world).join(".claude/agents/toucher.md"), agent);
    let done = world.run(&["run", "-a", "toucher", "--quiet", "--mode", "dangerous", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    let exists = |name: &str| world.working_directory().join(name).exists();
    assert_eq!([exists("a"), exists("b"), exists("c")], [false, false, true]);
}

#[test]
fn an_agent_for_people_is_called_by_none_and_a_disabled_one_is_run_by_nobody() {
    let script = "[[reply]]\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'mine', task = 'go' } }]\n\
                  [[reply]]\ntext = 'done'\n";
    let world = World::new().script(script);
    let agents = world.project_directory().join(".opencode/agents");
    write(agents.join("mine.md"), "---\ndescription: d\nmode: primary\n---\nText.\n");
    write(agents.join("deep/other.md"), "---\ndescription: d\n---\nText.\n");
    write(agents.join("off.md"), "---\ndescription: d\ndisable: true\n---\nText.\n");
    let refusal = world.refused(&["run", "-a", "off", "go"]);
    assert!(refusal.contains("off.md:3: `disable` keeps it from being run"), "{refusal}");
    let done = world.run(&["run", "--json", "go"]);
    assert!(!done.stdout.contains("root.mine-1"), "{}", done.stdout);
    assert_eq!(world.run(&["run", "-a", "deep-other", "--dry-run", "go"]).code, Some(0));
}

#[test]
fn a_tool_that_a_session_has_not_is_dropped_for_the_lead_and_for_a_child() {
    let script = "[[reply]]\nagent = 'root'\nturn = 1\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'helper', task = 'look' } }]\n\
                  [[reply]]\ntimes = 'any'\ntext = 'done'\n";
    let world = World::new().script(script).user("sub_agents.tools = ['sub_agent']");
    let text = "---\nname: helper\ndescription: d\n\
                tools: Read, TodoWrite, delegate_task, mcp__gone__look, mcp__away\n---\nLook.\n";
    write(world.project_directory().join(".claude/agents/helper.md"), text);
    let bare = text.replace("Read, TodoWrite, ", "").replace("helper", "bare");
    write(world.project_directory().join(".claude/agents/bare.md"), &bare);
    let lead = "description = 'd'\nsub_agents = ['helper']\nsystem_prompt = 's'";
    write(world.project_directory().join(".adjutant/agents/lead.toml"), lead);
    let called = Recorded::new(&world, &["-a", "lead", "go"]);
    assert_eq!(called.tools("root.helper-1"), ["read_file"]);
    let said = &called.done.stderr;
    assert!(said.contains("2 problems in a file of agents that may be called"), "{said}");
    assert!(said.contains("name tools of servers there are not here"), "{said}");
    let world = world.script("[[reply]]\ntext = 'done'\n");
    let led = Recorded::new(&world, &["-a", "helper", "go"]);
    assert_eq!(led.tools("root"), ["read_file"]);
    let said = &led.done.stderr;
    assert!(said.contains("helper.md:4: dropped: there is no tool `delegate_task`"), "{said}");
    assert!(said.contains("helper.md:4: `tools` names `mcp__away__*`, and no server"), "{said}");
    assert_eq!(Recorded::new(&world, &["-a", "bare", "go"]).tools("root"), [""; 0]);
    let checked = world.run(&["agents", "check", "helper"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for expected in [
        "helper.md:4: dropped: there is no tool `delegate_task`",
        "helper.md:4: dropped: `tools` names `TodoWrite`",
        "helper.md:4: warning: `tools` names `mcp__gone__look`, and no server here has such tools",
    ] {
        assert!(checked.stdout.contains(expected), "{}", checked.stdout);
    }
}

#[test]
fn a_tool_of_a_server_that_is_away_keeps_nobody_from_being_called() {
    for fields in ["tools: Read, mcp__away__look", "disallowedTools: mcp__away__look"] {
        let script = "[[reply]]\nagent = 'root'\nturn = 1\n\
                      calls = [{ tool = 'call_agent', args = { agent = 'helper', task = 'go' } }]\n\
                      [[reply]]\ntimes = 'any'\ntext = 'done'\n";
        let world = World::new().script(script);
        let text = format!("---\nname: helper\ndescription: d\n{fields}\n---\nLook.\n");
        write(world.project_directory().join(".claude/agents/helper.md"), &text);
        let called = Recorded::new(&world, &["go"]);
        assert!(called.tools("root.helper-1").contains(&"read_file".to_owned()), "{fields}");
        let checked = world.run(&["agents", "check", "helper"]);
        let field = fields.split(':').next().unwrap();
        let said =
            format!("helper.md:4: warning: `{field}` names `mcp__away__look`, and no server");
        assert!(checked.stdout.contains(&said), "{}", checked.stdout);
        assert!(checked.stdout.ends_with("0 errors, 0 dropped, 1 warning\n"), "{}", checked.stdout);
    }
}

#[test]
fn a_skill_there_is_not_is_dropped_and_the_agent_runs() {
    let script = "[[reply]]\nagent = 'root'\nturn = 1\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'helper', task = 'go' } }]\n\
                  [[reply]]\ntimes = 'any'\ntext = 'done'\n";
    let world = World::new().script(script);
    let skill = "---\nname: there\ndescription: d\n---\nSlowly.";
    let world = world.file(".claude/skills/there/SKILL.md", skill);
    let text = "---\nname: helper\ndescription: d\nskills: gone, there\n---\nLook.\n";
    write(world.project_directory().join(".claude/agents/helper.md"), text);
    let said = "helper.md:4: dropped: `skills`: there is no skill `gone`;";
    let called = Recorded::new(&world, &["go"]);
    assert!(called.system("root.helper-1").contains("Slowly."), "{:?}", called.done);
    let led = Recorded::new(&world.script("[[reply]]\ntext = 'done'\n"), &["-a", "helper", "go"]);
    assert_eq!(led.done.code, Some(0), "{:?}", led.done);
    assert!(led.done.stderr.contains(said) && led.system("root").contains("Slowly."));
}

#[test]
fn what_is_said_of_a_file_names_its_own_fields_and_is_said_once() {
    let world = World::new();
    let agents = world.project_directory().join(".claude/agents");
    write(agents.join("a.md"), "---\nname: a\nskills: gone\n---\nText.\n");
    let server = "---\nname: b\ndescription: d\nmcpServers: [{s: {command: x}}]\n---\nText.\n";
    write(agents.join("b.md"), server);
    write(agents.join("c.md"), "---\nname: c\ndescription: d\n---\n");
    let checked = world.run(&["agents", "check"]);
    let said = &checked.stdout;
    assert_eq!((checked.code, said.matches("`description` is missing").count()), (Some(0), 1));
    assert!(said.contains("a.md:3: dropped: `skills`: there is no skill `gone`"), "{said}");
    #[cfg(feature = "mcp")]
    assert!(said.contains("b.md:4: dropped: `mcpServers`: what it would start"), "{said}");
    assert!(said.contains("c.md: warning: `prompt` is missing"), "{said}");
}
