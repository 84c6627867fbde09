//! Work in the home directory itself, where all the user's own things are.

use std::fs;

use serde_json::json;

use crate::{
    attempt::call,
    support::{SECRETS, User, World},
};

const FLAGS: [&str; 4] = ["--mode", "auto", "--cwd", "{HOME}"];

#[test]
fn what_tells_shells_and_git_what_to_run_is_not_changed() {
    let lines = [
        "echo owned >> .profile",
        "echo owned > .bashrc",
        "echo '[core] fsmonitor = owned' > .gitconfig",
        "mkdir -p .config/git && echo owned > .config/git/config",
        "mkdir -p .config/fish && echo owned > .config/fish/config.fish",
        "mkdir -p .ssh && echo owned > .ssh/authorized_keys",
        "mv .profile old && echo owned > .profile",
    ];
    let names = [".bashrc", ".gitconfig", ".config/git", ".config/fish", ".ssh/authorized_keys"];
    for user in User::all() {
        let world = World::new(user);
        let commands = lines.map(|line| call("run_command", json!({ "command": line })));
        let write = |name: &&str| call("write_file", json!({ "path": name, "content": "owned" }));
        let files: Vec<_> = names.iter().map(write).collect();
        let results = world.told(&[&commands[..], &files].concat(), &FLAGS);
        assert!(results[lines.len()..].iter().all(|result| result.failed), "{results:?}");
        let home = world.root().join("home");
        assert_eq!(fs::read_to_string(home.join(".profile")).unwrap(), ":");
        for name in names {
            assert!(!home.join(name).exists(), "{name}: {results:?}");
        }
    }
}

#[test]
fn what_is_the_users_or_the_programs_own_is_not_seen() {
    for user in User::all() {
        let world = World::new(user);
        world.write("home/.pgpass", SECRETS[2]);
        let line = "cat .ssh/id_rsa .pgpass .config/adjutant/* .local/share/adjutant/*; \
                    grep -r trusted .local .config; echo tried";
        let call = call("run_command", json!({ "command": line }));
        let results = world.told(&[call], &FLAGS);
        let text = &results[0].text;
        assert!(text.contains("tried") && !text.contains("nothing is trusted"), "{text}");
        assert!(!SECRETS.iter().any(|secret| text.contains(secret)), "{text}");
    }
}
