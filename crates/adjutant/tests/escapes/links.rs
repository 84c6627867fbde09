//! Links that lead out, also while somebody looks.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;

use crate::{
    attempt::{AUTO, Attempt, call, contained},
    paths::{directory, file},
    support::{User, World},
};

/// Links in the project, and where they lead.
const LINKS: [(&str, &str); 14] = [
    ("link", "{OUTSIDE}/secret.txt"),
    ("relative", "../../outside/secret.txt"),
    ("sub/up", "../../.."),
    ("first", "second"),
    ("second", "sub/../third"),
    ("third", "{OUTSIDE}/secret.txt"),
    ("dangling", "{OUTSIDE}/new.txt"),
    ("directory", "{OUTSIDE}"),
    ("here", "loop"),
    ("loop", "here"),
    ("processes", "/proc/self"),
    ("everything", "/proc/self/root"),
    ("key", "{HOME}/.ssh/id_rsa"),
    ("back", "{OUTSIDE}/../home/.ssh"),
];

fn linked(user: User) -> World {
    let world = World::new(user);
    for (name, target) in LINKS {
        symlink(world.fill(target), world.project().join(name)).unwrap();
    }
    world
}

#[test]
fn no_link_to_a_file_is_followed_out() {
    let names = [
        "link",
        "relative",
        "first",
        "third",
        "dangling",
        "here",
        "key",
        "back/id_rsa",
        "sub/up/outside/secret.txt",
        "directory/secret.txt",
        "processes/environ",
        "processes/cwd/../.profile",
        "everything{OUTSIDE}/secret.txt",
    ];
    let attempts: Vec<_> = names.into_iter().flat_map(file).collect();
    contained(&attempts, &AUTO, linked);
}

#[test]
fn no_link_to_a_directory_is_followed_out() {
    let names =
        ["directory", "directory/", "sub/up/outside", "back", "here", "everything{OUTSIDE}"];
    let attempts: Vec<_> = names.into_iter().flat_map(directory).collect();
    contained(&attempts, &AUTO, linked);
}

#[test]
fn a_command_writes_through_no_link_and_makes_no_second_name() {
    let lines = [
        "echo owned > link",
        "echo owned >> first",
        "echo owned > dangling",
        "cd directory && echo owned > secret.txt; touch new.txt",
        "echo owned > everything{OUTSIDE}/secret.txt",
        "rm -rf directory/* 2> /dev/null",
        "cp inside.txt sub/up/outside/copy",
        "tar cf - inside.txt | tar xf - -C directory",
        "cat key back/id_rsa",
        "ln {OUTSIDE}/secret.txt hard && echo owned > hard",
        "ln -L link harder && echo owned > harder",
        "cp -l {OUTSIDE}/secret.txt hardest && echo owned > hardest",
        // `mv` would copy it, and to read it is no escape.
        "perl -e 'rename shift, shift' {OUTSIDE}/secret.txt moved",
        "ln -sfn {OUTSIDE} sub && echo owned > sub/new.txt",
    ];
    contained(&lines.map(Attempt::command), &AUTO, linked);
}

#[test]
fn a_link_a_command_made_is_not_followed_out() {
    let attempts = [
        Attempt::command("ln -s {OUTSIDE}/secret.txt one")
            .then(call("read_file", json!({ "path": "one" })))
            .then(call("write_file", json!({ "path": "one", "content": "owned" }))),
        Attempt::command("ln -s {OUTSIDE}/new.txt two")
            .then(call("write_file", json!({ "path": "two", "content": "owned" }))),
        Attempt::command("rm -r evil; ln -s {OUTSIDE} evil")
            .then(call("write_file", json!({ "path": "evil/new.txt", "content": "owned" })))
            .then(call("list_dir", json!({ "path": "evil" }))),
        Attempt::command("ln -s {HOME}/.ssh three; cat three/id_rsa")
            .then(call("read_file", json!({ "path": "three/id_rsa" }))),
    ];
    contained(&attempts, &AUTO, World::new);
}

/// Makes a name lead now inside, now out, as fast as it can. That is faster than a command of
/// the agent's could.
fn flip(world: &World, is_over: &AtomicBool) {
    let project = world.project();
    let (name, out, other) = (project.join("turn"), project.join("out"), project.join("other"));
    while !is_over.load(Ordering::Relaxed) {
        let _ = fs::rename(&name, &other);
        let _ = fs::rename(&out, &name);
        let _ = fs::rename(&name, &out);
        let _ = fs::rename(&other, &name);
    }
}

#[test]
fn a_name_that_changes_while_somebody_looks_leads_nowhere_else() {
    for user in User::all() {
        let world = World::new(user);
        world.write("home/project/turn/secret.txt", "inside");
        symlink(world.root().join("outside"), world.project().join("out")).unwrap();
        let rounds = 0..40;
        let calls = rounds.flat_map(|round| {
            let new = format!("turn/{round}");
            [
                call("read_file", json!({ "path": "turn/secret.txt" })),
                call("write_file", json!({ "path": new, "content": "owned" })),
                call("delete_file", json!({ "path": "turn/victim.txt" })),
                call("list_dir", json!({ "path": "turn" })),
                call("list_dir", json!({ "recursive": true })),
                call("find_files", json!({ "pattern": "**" })),
                call("search_files", json!({ "pattern": "." })),
            ]
        });
        let calls: Vec<_> = calls.collect();
        world.script(&json!([
            { "agent": "root", "calls": [call("sub_agent", json!({ "prompt": "go on" }))] },
            { "agent": "root.*", "calls": calls, "times": 3 },
            { "text": "done", "times": "any" },
        ]));
        let mut world = world;
        let before = crate::witness::Picture::take(&world);
        let is_over = AtomicBool::new(false);
        let done = thread::scope(|scope| {
            scope.spawn(|| flip(&world, &is_over));
            let done = world.run(&AUTO);
            is_over.store(true, Ordering::Relaxed);
            done
        });
        assert_eq!(crate::witness::violations(&mut world, &before, &done), [""; 0], "{user:?}");
        assert_eq!(done.results().len(), 3 * calls.len() + 1);
    }
}
