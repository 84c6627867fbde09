//! Files of other products make nobody freer than they say.

use std::{fs, path::PathBuf};

use crate::support::World;

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
