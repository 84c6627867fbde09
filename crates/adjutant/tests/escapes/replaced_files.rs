//! Files that somebody replaces while a command runs: then nothing holds them any more.

use std::{fs, process::Output};

use serde_json::{Value, json};

use crate::{
    attempt::{AUTO, call},
    support::{User, World},
};

/// What the person does besides, when a directory is listed: something, and then wait until the
/// command has done its part or was ended.
fn besides(world: &World, what: &str, file: &str) {
    let wait = format!("for i in $(seq 10); do grep -q hooked {file} && break; sleep 0.1; done");
    let ready = "until test -e ready; do sleep 0.05; done";
    world.write("outside/besides.sh", &format!("{ready}\n{what}\n{wait}\nsleep 0.3\n"));
    let hook = |name, command: String| {
        format!(
            "[hooks.{name}]\nevent = 'before_tool'\nmatch = 'list_dir'\ncommand = '{command}'\n"
        )
    };
    world.write("home/project/keep/check.sh", "exit 0\n");
    let program = world.root().join("outside/besides.sh");
    let first = hook("a", format!("sh {}", program.display()));
    world.user_file(&format!("{first}{}", hook("b", "sh keep/check.sh".to_owned())));
}

/// A command that waits for its chance.
fn lurking(line: &str) -> Value {
    let command = format!("touch ready; until {line}; do sleep 0.05; done 2> /dev/null; sleep 30");
    call("run_command", json!({ "command": command, "background": true }))
}

fn listing() -> Value {
    call("list_dir", json!({}))
}

/// Has a person look at the repository.
fn look(world: &World) -> Output {
    world.prepare("/bin/sh", &["-c", "git status"]).output().unwrap()
}

#[test]
fn settings_of_git_that_a_command_gets_hold_of_do_not_stay() {
    for user in User::all() {
        let world = World::new(user);
        besides(&world, "git config branch.main.remote origin", ".git/config");
        let line = "git config core.fsmonitor 'touch {OUTSIDE}/hooked; false'";
        let read = call("read_output", json!({ "job": "job-1" }));
        let results = world.told(&[lurking(line), listing(), read], &AUTO);
        assert!(results[2].text.contains("was replaced while the command ran"), "{results:?}");
        let looked = look(&world);
        assert!(!world.root().join("outside/hooked").exists(), "{looked:?}");
        // It would have.
        let config = world.project().join(".git/config");
        fs::rename(config.with_added_extension("refused-1"), config).unwrap();
        look(&world);
        assert!(world.root().join("outside/hooked").exists(), "{results:?}");
    }
}

#[test]
fn a_program_that_a_command_gets_hold_of_is_not_run() {
    for user in User::all() {
        let world = World::new(user);
        let (copy, file) =
            ("cp keep/check.sh keep/new && mv keep/new keep/check.sh", "keep/check.sh");
        besides(&world, copy, file);
        let line = "echo 'touch {OUTSIDE}/hooked' > keep/check.sh";
        let results = world.told(&[lurking(line), listing(), listing()], &AUTO);
        assert!(!world.root().join("outside/hooked").exists(), "{results:?}");
        let check = fs::read_to_string(world.project().join("keep/check.sh")).unwrap();
        assert_eq!(check, "exit 0\n");
    }
}

#[test]
fn a_program_that_is_not_what_it_was_is_not_run() {
    let world = World::new(User::Own);
    world.write("home/project/ready", "");
    besides(&world, "echo 'touch {OUTSIDE}/hooked' >> keep/check.sh", "keep/check.sh");
    let results = world.told(&[listing()], &AUTO);
    assert!(results[0].failed, "{results:?}");
    assert!(results[0].text.contains("has changed since the run began"), "{results:?}");
}
