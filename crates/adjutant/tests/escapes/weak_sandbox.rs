//! Where bubblewrap does not work.

use serde_json::json;

use crate::{
    attempt::{AUTO, call},
    support::{User, World},
};

/// Puts something in the place of bubblewrap that is no program.
const WITHOUT_BUBBLEWRAP: [&str; 7] =
    ["/usr/bin/bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/bwrap"];

#[test]
fn a_command_is_asked_about_and_it_is_said_what_is_missing() {
    for user in User::all() {
        let world = World::new(user);
        let touch = call("run_command", json!({ "command": "touch made" }));
        world.script(&json!([{ "calls": [touch] }, { "text": "done" }]));
        let done = world.run_under(&WITHOUT_BUBBLEWRAP, &AUTO);
        let told = &done.results()[0].text;
        for words in [
            "nobody is there to allow it",
            "running commands without the whole sandbox",
            "only Landlock holds the command, because bubblewrap does not work here (",
            "but it can read your secrets",
        ] {
            assert!(told.contains(words), "{user:?}: {told}");
        }
        assert!(!world.project().join("made").exists());
        let is_question = |line: &&str| line.contains(r#""event":"asked""#);
        let question = done.stdout.lines().find(is_question).unwrap();
        assert!(question.contains("; only Landlock holds the command"), "{question}");
    }
}
