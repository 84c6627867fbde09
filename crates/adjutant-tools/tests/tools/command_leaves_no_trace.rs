//! What commands do to files is recorded, with what the files held.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    sync::Arc,
};

use adjutant_core::{Change, Digest, Fact, Mode};
use adjutant_tools::Snapshots;
use serde_json::json;

use crate::{
    ground::Ground,
    seat::{Seat, settings},
};

/// A change: the file, what it held and what it holds.
type Told = (String, Option<String>, Option<String>);

/// A directory with an agent whose commands are recorded.
fn ground(files: &[(&str, &str)]) -> Ground {
    let mut ground = Ground::with(files);
    let mut settings = settings();
    let data = ground.at("../data");
    settings.commands.snapshots = Some(Arc::new(Snapshots::new(data, settings.files.clone())));
    let work = ground.seat.workdir.clone();
    ground.seat = Seat { tools: adjutant_tools::all(&settings), ..Seat::at(&work) };
    ground.seat.grant = Seat::at(&work).in_mode(Mode::Dangerous).grant;
    ground
}

async fn run(ground: &Ground, command: &str) -> String {
    ground.seat.call("run_command", json!({ "command": command })).await.unwrap()
}

/// Takes what was recorded. What a file became is told by its content now.
fn changes(ground: &Ground) -> Vec<Told> {
    let changes = std::mem::take(&mut *ground.seat.changes.lock().unwrap());
    changes.iter().map(|change| told(ground, change)).collect()
}

fn told(ground: &Ground, change: &Change) -> Told {
    let path = Path::new(&change.path);
    let name = path.strip_prefix(&ground.seat.workdir).unwrap().to_str().unwrap().to_owned();
    let before = change.before.as_ref().map(|(state, content)| {
        assert_eq!(state.digest, Digest::of(content));
        assert_eq!(state.bytes, content.len() as u64);
        format!("{:o} {}", state.mode, String::from_utf8_lossy(content))
    });
    let after = change.after.as_ref().map(|state| {
        let content = match state.mode & 0o170_000 {
            0o120_000 => fs::read_link(path).unwrap().to_str().unwrap().as_bytes().to_owned(),
            0o040_000 => Vec::new(),
            _ => fs::read(path).unwrap(),
        };
        assert_eq!(state.digest, Digest::of(&content), "{name}");
        format!("{:o} {}", state.mode, String::from_utf8_lossy(&content))
    });
    (name, before, after)
}

fn one(name: &str, before: Option<&str>, after: Option<&str>) -> Told {
    (name.into(), before.map(str::to_owned), after.map(str::to_owned))
}

#[tokio::test]
async fn whatever_a_command_does_to_files_is_recorded_with_what_they_held() {
    let ground = ground(&[
        ("edited", "one\r\n"),
        ("gone", "bye"),
        ("moved", "here"),
        ("private", "secret"),
        ("same", "same"),
        // A project may say what git makes of files: that is nothing to go by.
        (".gitattributes", "* text=auto eol=lf ident filter=evil"),
        ("nested/.git/HEAD", "ref: refs/heads/main"),
        ("nested/file", "inner"),
    ]);
    symlink("edited", ground.at("link")).unwrap();
    for (file, mode) in [("private", 0o600), ("edited", 0o644), ("gone", 0o640)] {
        fs::set_permissions(ground.at(file), fs::Permissions::from_mode(mode)).unwrap();
    }
    let command = "umask 022; printf 'two\\r\\n' > edited; rm gone; mv moved new; chmod 755 private; \
                   ln -sfn same link; echo x >> nested/file; mkdir -p a/b; echo > a/b/c; touch same";
    run(&ground, command).await;
    let mut changes = changes(&ground);
    changes.sort();
    assert_eq!(
        changes,
        [
            one("a", None, Some("40755 ")),
            one("a/b", None, Some("40755 ")),
            one("a/b/c", None, Some("100644 \n")),
            one("edited", Some("100644 one\r\n"), Some("100644 two\r\n")),
            one("gone", Some("100640 bye"), None),
            one("link", Some("120777 edited"), Some("120777 same")),
            one("moved", Some("100644 here"), None),
            one("nested/file", Some("100644 inner"), Some("100644 innerx\n")),
            one("new", None, Some("100644 here")),
            one("private", Some("100600 secret"), Some("100755 secret")),
        ]
    );
    let facts = ground.seat.facts.lock().unwrap();
    let modified = facts.iter().filter(|fact| matches!(fact, Fact::Modified { .. })).count();
    assert_eq!(modified, 8);
}

#[tokio::test]
async fn what_others_did_between_commands_is_not_a_commands_doing() {
    let ground = ground(&[("a", "1"), ("b", "1")]);
    run(&ground, "echo 2 > a").await;
    assert_eq!(changes(&ground).len(), 1);
    ground.write("a", "by hand");
    ground.write("new", "by hand");
    fs::remove_file(ground.at("b")).unwrap();
    run(&ground, "true").await;
    assert_eq!(changes(&ground), []);
    run(&ground, "echo 3 > a").await;
    assert_eq!(changes(&ground), [one("a", Some("100644 by hand"), Some("100644 3\n"))]);
}

#[tokio::test]
async fn what_is_ignored_is_left_out_and_what_begins_to_be_has_not_gone() {
    let ground =
        ground(&[(".gitignore", "target\n"), ("target/x", "1"), ("log", "1"), ("env", "")]);
    run(&ground, "echo 2 > target/x; mkdir .git; echo > .git/config").await;
    assert_eq!(changes(&ground), []);
    run(&ground, "echo log > .gitignore; echo 2 > log; echo 3 > target/x; echo > new").await;
    // `target/x` was there before, so undoing must not remove it; `log` still is.
    assert_eq!(
        changes(&ground),
        [
            one(".gitignore", Some("100644 target\n"), Some("100644 log\n")),
            one("log", Some("100644 1"), Some("100644 2\n")),
            one("new", None, Some("100644 \n")),
        ]
    );
}

#[tokio::test]
async fn a_file_that_is_too_large_is_named() {
    let ground = ground(&[("small", "1")]);
    let big = "head -c 17000000 /dev/zero";
    let said = run(&ground, &format!("{big} > big; echo 2 > small")).await;
    assert!(said.contains("[cannot be undone: `"), "{said}");
    assert!(said.contains("/big` (it has more than 16777216 bytes)]"), "{said}");
    // Undoing has to know of it, too.
    let told: Vec<_> = std::mem::take(&mut *ground.seat.changes.lock().unwrap());
    let [big, small] = &told[..] else { panic!("{told:?}") };
    assert!(big.path.ends_with("/big") && big.before.is_none());
    assert!(!big.after.as_ref().unwrap().is_known());
    assert_eq!(self::told(&ground, small), one("small", Some("100644 1"), Some("100644 2\n")));
    let said = run(&ground, "printf x | dd of=big conv=notrunc status=none").await;
    assert!(said.contains("/big`"), "{said}");
    let said = run(&ground, "true").await;
    assert!(!said.contains("cannot be undone"), "{said}");
}

#[tokio::test]
async fn that_nobody_can_look_is_told_once_and_for_the_record() {
    let ground = ground(&[("a", "0")]);
    // Where contents are to be kept there is a file.
    ground.write("../data", "");
    let said = run(&ground, "echo 1 > a").await;
    assert!(said.contains("[what commands do to files cannot be undone from here on: `"), "{said}");
    let said = run(&ground, "echo 2 > a").await;
    assert!(!said.contains("cannot be undone"), "{said}");
    let facts = ground.seat.facts.lock().unwrap();
    let told = facts.iter().filter(|fact| matches!(fact, Fact::Unwatched { .. })).count();
    assert_eq!(told, 1);
}

#[tokio::test]
async fn what_a_job_does_is_recorded_when_it_is_asked_for() {
    let ground = ground(&[("a", "0")]);
    let job = json!({ "command": "echo 1 > a; echo ready; read x; echo 2 > a; read x", "background": true });
    ground.seat.call("run_command", job).await.unwrap();
    let said = ground.seat.call("read_output", json!({ "job": "job-1", "wait": 60 })).await;
    assert!(said.unwrap().contains("ready"));
    assert_eq!(changes(&ground), [one("a", Some("100644 0"), Some("100644 1\n"))]);
    // What a tool does meanwhile is recorded by the tool alone.
    let edit = json!({ "path": "b", "content": "by a tool" });
    ground.seat.call("write_file", edit).await.unwrap();
    assert_eq!(changes(&ground), [one("b", None, Some("100644 by a tool"))]);
    let input = json!({ "job": "job-1", "text": "\n" });
    ground.seat.call("write_input", input).await.unwrap();
    crate::seat::until(|| ground.read("a") == "2\n").await;
    ground.seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert_eq!(changes(&ground), [one("a", Some("100644 1\n"), Some("100644 2\n"))]);
    ground.write("a", "by hand");
    run(&ground, "true").await;
    assert_eq!(changes(&ground), []);
}

#[tokio::test]
async fn what_commands_do_at_once_is_neither_lost_nor_recorded_twice() {
    let ground = ground(&[("a", "0"), ("b", "0")]);
    // Each waits for the other, so both have begun before either ends.
    let command = |own: &str, other: &str| {
        format!(
            "echo 1 > {own}; until [ -s {other}.begun ]; do sleep 0.01; done; echo > {own}.seen"
        )
    };
    let both = |own: &str, other: &str| format!("echo > {own}.begun; {}", command(own, other));
    let (first, second) = (both("a", "b"), both("b", "a"));
    tokio::join!(run(&ground, &first), run(&ground, &second));
    let changes = std::mem::take(&mut *ground.seat.changes.lock().unwrap());
    // A file that is seen half written changes once more; but no change comes twice.
    let mut now = BTreeMap::from([("a", Digest::of(b"0")), ("b", Digest::of(b"0"))]);
    for Change { path, before, after } in &changes {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let before = before.as_ref().map(|(state, _)| state.digest.clone());
        let former = now.insert(name, after.as_ref().unwrap().digest.clone());
        assert_eq!(former, before, "{name}");
    }
    assert_eq!(now.len(), 6);
    for (name, digest) in now {
        assert_eq!(digest, Digest::of(&fs::read(ground.at(name)).unwrap()), "{name}");
    }
}

#[tokio::test]
async fn what_a_job_did_is_not_forgotten_when_another_command_begins() {
    let ground = ground(&[("a", "0")]);
    let command = "echo 1 > a; mkdir made; echo > made/b; read x";
    let job = json!({ "command": command, "background": true });
    ground.seat.call("run_command", job).await.unwrap();
    crate::seat::until(|| ground.at("made/b").exists()).await;
    run(&ground, "true").await;
    let names: Vec<_> = changes(&ground).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["a", "made", "made/b"]);
}

#[tokio::test]
async fn directories_are_recorded_whether_or_not_anything_is_in_them() {
    let ground = ground(&[("full/a", "0"), ("gone/a", "0")]);
    fs::create_dir(ground.at("bare")).unwrap();
    fs::set_permissions(ground.at("bare"), fs::Permissions::from_mode(0o700)).unwrap();
    run(&ground, "echo > full/b; mkdir -p new/deep; rm -r gone; rmdir bare").await;
    assert_eq!(
        changes(&ground),
        [
            one("bare", Some("40700 "), None),
            one("full/b", None, Some("100644 \n")),
            one("gone", Some("40755 "), None),
            one("gone/a", Some("100644 0"), None),
            one("new", None, Some("40755 ")),
            one("new/deep", None, Some("40755 ")),
        ]
    );
}

#[tokio::test]
async fn what_moves_along_with_a_directory_is_recorded_however_old_it_is() {
    let ground = ground(&[("one/deep/a", "0"), ("two/b", "0"), ("three/c", "0"), ("four", "0")]);
    let made = std::time::Instant::now();
    crate::seat::until(|| made.elapsed().as_millis() > 100).await;
    // Another name, the place of another directory, the place of a file.
    run(&ground, "mv one new; rm -r three; mv two three; rm four; mv new/deep four").await;
    let names: Vec<_> = changes(&ground).into_iter().map(|(name, ..)| name).collect();
    let expected = [
        "four",
        "four/a",
        "new",
        "one",
        "one/deep",
        "one/deep/a",
        "three/b",
        "three/c",
        "two",
        "two/b",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn what_a_link_now_leads_to_is_not_what_was_there() {
    let ground = ground(&[("one/a", "0")]);
    run(&ground, "mv one two; ln -s two one").await;
    assert_eq!(
        changes(&ground),
        [
            one("one", Some("40755 "), Some("120777 two")),
            one("one/a", Some("100644 0"), None),
            one("two", None, Some("40755 ")),
            one("two/a", None, Some("100644 0")),
        ]
    );
}

#[tokio::test]
async fn what_a_tool_writes_beside_a_file_is_no_commands_doing() {
    let ground = ground(&[]);
    run(&ground, "echo > .adjutant-0123456789abcdef; echo > .adjutant-notes").await;
    let names: Vec<_> = changes(&ground).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [".adjutant-notes"]);
}

#[tokio::test]
async fn a_directory_a_tool_made_while_a_command_ran_is_recorded_once() {
    let ground = ground(&[]);
    let job = json!({ "command": "read x", "background": true });
    ground.seat.call("run_command", job).await.unwrap();
    let write = json!({ "path": "new/a", "content": "by a tool" });
    ground.seat.call("write_file", write).await.unwrap();
    assert_eq!(changes(&ground).len(), 2);
    ground.seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert_eq!(changes(&ground), []);
}

#[tokio::test]
async fn what_a_job_did_last_is_recorded_when_its_agent_ends() {
    let ground = ground(&[("a", "0")]);
    let job = json!({ "command": "echo 1 > a; read x", "background": true });
    ground.seat.call("run_command", job).await.unwrap();
    crate::seat::until(|| ground.read("a") == "1\n").await;
    end_all(&ground).await;
    assert_eq!(changes(&ground), [one("a", Some("100644 0"), Some("100644 1\n"))]);
}

#[tokio::test]
async fn what_a_command_did_is_recorded_when_nobody_waits_for_it_any_more() {
    let ground = ground(&[("a", "0")]);
    tokio::select! {
        said = run(&ground, "echo 1 > a; sleep 600") => panic!("{said}"),
        () = crate::seat::until(|| ground.read("a") == "1\n") => {}
    }
    end_all(&ground).await;
    assert_eq!(changes(&ground), [one("a", Some("100644 0"), Some("100644 1\n"))]);
}

async fn end_all(ground: &Ground) {
    let held = std::mem::take(&mut *ground.seat.held.lock().unwrap());
    for held in held {
        held.end().await.unwrap();
    }
}

#[tokio::test]
async fn what_a_job_did_before_another_command_began_is_its_own_doing() {
    let ground = ground(&[("a", "0")]);
    let other = ground.seat.other("root.other-1").in_mode(Mode::Dangerous);
    let job = json!({ "command": "echo 1 > a; read x", "background": true });
    ground.seat.call("run_command", job).await.unwrap();
    crate::seat::until(|| ground.read("a") == "1\n").await;
    other.call("run_command", json!({ "command": "echo > b" })).await.unwrap();
    assert_eq!(changes(&ground), [one("a", Some("100644 0"), Some("100644 1\n"))]);
    let theirs = other.changes.lock().unwrap().clone();
    assert!(theirs.len() == 1 && theirs[0].path.ends_with("/b"), "{theirs:?}");
    // Nobody has told yet, so the next who asks does.
    let facts = || ground.seat.facts.lock().unwrap().clone();
    let is_told = |fact: &Fact| matches!(fact, Fact::Modified { path } if path.ends_with("/a"));
    assert!(!facts().iter().any(is_told));
    ground.seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert!(facts().iter().any(is_told));
}

#[tokio::test]
async fn an_agent_has_to_read_what_its_command_changed() {
    let ground = ground(&[("a", "0")]);
    let other = ground.seat.other("root.other-1");
    other.call("read_file", json!({ "path": "a" })).await.unwrap();
    run(&ground, "echo 1 > a").await;
    let write = json!({ "path": "a", "content": "2" });
    let refused = other.call("write_file", write).await.unwrap_err();
    assert!(refused.contains("changed since you read it, by `root`"), "{refused}");
}

#[tokio::test]
async fn a_command_that_may_change_nothing_is_not_watched() {
    let ground = ground(&[("a", "0")]);
    let seat = Seat { tools: ground.seat.tools.clone(), ..Seat::at(&ground.seat.workdir) };
    let _ = seat.call("run_command", json!({ "command": "true" })).await;
    assert!(!ground.at("../data").exists());
}
