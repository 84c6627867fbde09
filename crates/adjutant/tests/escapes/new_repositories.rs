//! Repositories that commands make, and that a person uses later.

use std::fs;

use serde_json::{Value, json};

use crate::{
    attempt::{AUTO, call},
    support::{User, World},
};

/// What makes a repository, what of it must not stay, and what a person does with it.
const MADE: [[&str; 3]; 3] = [
    [
        "git init -q new && cp evil/pre-commit new/.git/hooks && chmod +x new/.git/hooks/*",
        "new/.git/hooks/pre-commit",
        "git -C new -c user.name=A -c user.email=a@b commit --allow-empty -qm work",
    ],
    [
        "git init -q new && git -C new config core.fsmonitor 'touch ../../../outside/hooked; :'",
        "new/.git/config",
        "git -C new status",
    ],
    [
        "git init -q --bare new && git -C new config alias.look '!touch {OUTSIDE}/hooked'",
        "new/config",
        "git -C new look; true",
    ],
];

fn run(line: &str) -> Value {
    call("run_command", json!({ "command": line }))
}

#[test]
fn one_that_was_made_runs_nothing_when_a_person_uses_it() {
    for user in User::all() {
        for [line, name, use_] in MADE {
            let world = World::new(user);
            world.write(
                "home/project/evil/pre-commit",
                "#!/bin/sh\ntouch ../../../outside/hooked\n",
            );
            world.script(&json!([{ "calls": [run(line)] }, { "text": "done" }]));
            let done = world.run(&AUTO);
            let told = format!("{}` appeared while", world.project().join(name).display());
            assert!(done.results()[0].text.contains(&told), "{line}: {:?}", done.results());
            assert!(done.stderr.contains(&format!("warning: `{told}")), "{line}: {}", done.stderr);

            let hooked = world.root().join("outside/hooked");
            let git = || world.prepare("/bin/sh", &["-c", use_]).output().unwrap();
            git();
            assert!(!hooked.exists(), "{line} as {user:?}");
            // It would have.
            let name = world.project().join(name);
            fs::rename(name.with_added_extension("refused-1"), name).unwrap();
            let used = git();
            assert!(hooked.exists(), "{line} as {user:?}: {used:?}");
        }
    }
}

#[test]
fn one_can_be_made_and_used() {
    for user in User::all() {
        let world = World::new(user);
        let lines = ["git init -q new && git -C new config user.name A", "git clone -q new copy"];
        world.script(&json!([{ "calls": lines.map(run)[..1] }, { "calls": lines.map(run)[1..] },
            { "text": "done" }]));
        let done = world.run(&AUTO);
        assert!(done.results().iter().all(|result| !result.failed), "{:?}", done.results());
        assert!(!done.stderr.contains("warning: `"), "{}", done.stderr);
        assert!(world.project().join("copy/.git/config").exists());
    }
}
