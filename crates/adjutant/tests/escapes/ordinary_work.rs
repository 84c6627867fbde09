//! What is no attempt at anything: walls that stop everything prove nothing.

use std::fs;

use serde_json::json;

use crate::{
    attempt::{AUTO, call},
    support::{User, World},
    witness::{Picture, violations},
};

#[test]
fn files_are_edited_programs_are_built_and_work_is_committed() {
    let run = |line: &str| call("run_command", json!({ "command": line }));
    let commit = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A \
                  GIT_COMMITTER_EMAIL=a@b; git add build.sh sub && git commit -qm work";
    let calls = [
        call("read_file", json!({ "path": "sub/file.txt" })),
        call("edit_file", json!({ "path": "sub/file.txt", "old_text": "in", "new_text": "be" })),
        call("write_file", json!({ "path": "build.sh", "content": "echo 'echo built' > tool\n" })),
        run("sh build.sh && chmod +x tool && ./tool > output && mktemp"),
        run(commit),
        run("git log --format=%s && git status --short sub"),
        run("git checkout -q -b branch && git mv build.sh make.sh && git stash -q"),
        run("sleep 0 & wait; echo x | cat > sub/piped; ln -s piped sub/link; cat sub/link"),
    ];
    for user in User::all() {
        let mut world = World::new(user);
        let results = world.told(&calls, &AUTO);
        assert!(results.iter().all(|result| !result.failed), "{user:?}: {results:#?}");
        assert_eq!(results[5].text, "work\n[exit code 0]");
        let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
        assert_eq!((read("sub/file.txt"), read("output")), ("beside\n".into(), "built\n".into()));

        world.script(&json!([{ "text": "done" }]));
        let (before, done) = (Picture::take(&world), world.run(&AUTO));
        assert_eq!(violations(&mut world, &before, &done), [""; 0]);
    }
}
