//! Several who write to one file, none of whom may lose what another wrote.

use std::{fs, os::unix::fs::PermissionsExt as _};

use adjutant_core::{Digest, Fact};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{ground::Ground, seat::Seat};

async fn read(seat: &Seat, path: &str) {
    seat.call("read_file", json!({ "path": path })).await.unwrap();
}

async fn write(seat: &Seat, path: &str, content: &str) -> Result<String, String> {
    seat.call("write_file", json!({ "path": path, "content": content })).await
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "path": "a", "old_text": old, "new_text": new })
}

#[tokio::test]
async fn a_file_is_made_with_the_directories_above_it() {
    let ground = Ground::with(&[]);
    let said = write(&ground.seat, "new/deep/a.txt", "one\ntwo").await.unwrap();
    assert_eq!(said, "created `new/deep/a.txt`: 2 lines, 7 bytes");
    assert_eq!(ground.read("new/deep/a.txt"), "one\ntwo");
    assert_eq!(ground.names("new/deep"), ["a.txt"]);
    let path = ground.at("new/deep/a.txt").display().to_string();
    let facts = ground.seat.facts.lock().unwrap();
    assert_eq!(*facts, [Fact::Modified { path: path.clone() }]);
    let changes = ground.seat.changes.lock().unwrap();
    let [_, _, change] = changes.as_slice() else { panic!("{changes:?}") };
    let after = change.after.as_ref().unwrap();
    assert_eq!((&change.path, change.before.is_none()), (&path, true));
    assert_eq!((after.digest.clone(), after.bytes), (Digest::of(b"one\ntwo"), 7));
    assert_eq!(after.mode, mode(&ground, "new/deep/a.txt"));
}

#[tokio::test]
async fn a_binary_file_may_be_replaced_once_it_was_looked_at() {
    let long = format!("a\0{}", "x".repeat(100_000));
    let ground = Ground::with(&[("short", "a\0b"), ("long", &long)]);
    for path in ["short", "long"] {
        let refused = write(&ground.seat, path, "text").await.unwrap_err();
        assert!(refused.contains("read"), "{refused}");
        let unshown = ground.seat.call("read_file", json!({ "path": path })).await.unwrap_err();
        assert!(unshown.ends_with("its bytes are not shown, but it counts as read"), "{unshown}");
        fs::write(ground.at(path), "c\0d").unwrap();
        let changed = write(&ground.seat, path, "text").await.unwrap_err();
        assert!(changed.contains("changed"), "{changed}");
        ground.seat.call("read_file", json!({ "path": path })).await.unwrap_err();
        let said = write(&ground.seat, path, "text").await.unwrap();
        assert_eq!(said, format!("replaced `{path}`: 1 line, 4 bytes"));
    }
}

fn mode(ground: &Ground, path: &str) -> u32 {
    fs::metadata(ground.at(path)).unwrap().permissions().mode()
}

#[tokio::test]
async fn what_was_there_is_recorded_before_it_is_replaced() {
    let ground = Ground::with(&[("a", "former")]);
    fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o640)).unwrap();
    read(&ground.seat, "a").await;
    let path = ground.at("a");
    *ground.seat.meanwhile.lock().unwrap() =
        Some(Box::new(move || assert_eq!(fs::read(path).unwrap(), b"former")));
    assert_eq!(write(&ground.seat, "a", "x").await.unwrap(), "replaced `a`: 1 line, 1 byte");
    assert_eq!(mode(&ground, "a"), 0o100_640);
    let changes = ground.seat.changes.lock().unwrap();
    let (before, content) = changes[0].before.as_ref().unwrap();
    assert_eq!((before.digest.clone(), before.mode), (Digest::of(b"former"), 0o100_640));
    assert_eq!(
        (&content[..], changes[0].after.as_ref().unwrap().mode),
        (&b"former"[..], 0o100_640)
    );
}

#[tokio::test]
async fn a_file_nobody_looked_at_is_not_replaced() {
    let ground = Ground::with(&[("a", "former")]);
    let error = write(&ground.seat, "a", "mine").await.unwrap_err();
    assert_eq!(error, "`a` is there and you have not read it: read it first");
    assert_eq!(ground.read("a"), "former");
    assert_eq!(ground.names("."), ["a"]);
    // A part of it is enough; and what it wrote itself it knows.
    ground.seat.call("read_file", json!({ "path": "a", "limit": 1 })).await.unwrap();
    write(&ground.seat, "a", "mine").await.unwrap();
    write(&ground.seat, "a", "mine too").await.unwrap();
    let error = write(&ground.seat, "a", "mine too").await.unwrap_err();
    assert_eq!(error, "`a` has that content already: nothing was changed");
    // What one agent read, another did not.
    let other = ground.seat.other("root.fixer-2");
    assert!(write(&other, "a", "theirs").await.unwrap_err().ends_with("read it first"));
}

#[tokio::test]
async fn a_file_another_agent_changed_is_not_changed_and_the_agent_is_named() {
    let ground = Ground::with(&[("a", "one")]);
    let (seat, other) = (&ground.seat, ground.seat.other("root.fixer-2"));
    read(seat, "a").await;
    other.call("edit_file", edit("one", "two")).await.unwrap();
    let expected = "`a` changed since you read it, by `root.fixer-2`: read it again";
    assert_eq!(write(seat, "a", "mine").await.unwrap_err(), expected);
    assert_eq!(seat.call("edit_file", edit("two", "mine")).await.unwrap_err(), expected);
    let deleted = seat.call("delete_file", json!({ "path": "a" })).await;
    assert_eq!(deleted.unwrap_err(), expected);
    assert_eq!(ground.read("a"), "two");
    assert!(seat.changes.lock().unwrap().is_empty());
    read(seat, "a").await;
    write(seat, "a", "mine").await.unwrap();
}

#[tokio::test]
async fn a_file_somebody_else_changed_is_not_changed() {
    let ground = Ground::with(&[("a", "one"), ("long", &"line\n".repeat(20_000))]);
    let seat = &ground.seat;
    let outside = "changed since you read it, by somebody outside (a person or a command): \
                   read it again";
    read(seat, "a").await;
    ground.write("a", "two");
    assert_eq!(write(seat, "a", "x").await.unwrap_err(), format!("`a` {outside}"));
    // It was ours before it was theirs.
    read(seat, "a").await;
    write(seat, "a", "mine").await.unwrap();
    ground.write("a", "theirs");
    assert_eq!(write(seat, "a", "x").await.unwrap_err(), format!("`a` {outside}"));
    // The same content is the same file, whenever it was written.
    read(seat, "a").await;
    ground.write("a", "theirs");
    write(seat, "a", "x").await.unwrap();
    // One that is too long to be read whole is known by what the system knows of it.
    seat.call("read_file", json!({ "path": "long", "limit": 1 })).await.unwrap();
    write(seat, "long", "short").await.unwrap();
    ground.write("long", "line\n".repeat(20_000));
    seat.call("read_file", json!({ "path": "long", "limit": 1 })).await.unwrap();
    // Even if it is as long and as old as the one that was read.
    let modified = fs::metadata(ground.at("long")).unwrap().modified().unwrap();
    ground.write("other", "LINE\n".repeat(20_000));
    fs::File::open(ground.at("other")).unwrap().set_modified(modified).unwrap();
    fs::rename(ground.at("other"), ground.at("long")).unwrap();
    assert_eq!(write(seat, "long", "x").await.unwrap_err(), format!("`long` {outside}"));
}

#[tokio::test]
async fn a_file_another_agent_deleted_is_not_made_again_unawares() {
    let ground = Ground::with(&[("a", "one")]);
    let (seat, other) = (&ground.seat, ground.seat.other("root.fixer-2"));
    read(seat, "a").await;
    let said = other.call("delete_file", json!({ "path": "a" })).await.unwrap();
    assert_eq!(said, "deleted `a`: 3 bytes");
    assert!(other.changes.lock().unwrap()[0].after.is_none());
    let error = write(seat, "a", "mine").await.unwrap_err();
    let expected = "`a` was deleted since you read it, by `root.fixer-2`: to make it anew, try \
                    again";
    assert_eq!(error, expected);
    assert_eq!(write(seat, "a", "mine").await.unwrap(), "created `a`: 1 line, 4 bytes");
}

#[tokio::test]
async fn edits_by_many_agents_at_once_are_all_in_the_file() {
    let lines: String = (10..60).map(|number| format!("line {number}\n")).collect();
    let ground = Ground::with(&[("a", &lines)]);
    let seats: Vec<_> = (10..60)
        .map(|number| (number, ground.seat.other(&format!("root.fixer-{number}"))))
        .collect();
    let edits = seats.iter().map(|(number, seat)| {
        seat.call("edit_file", edit(&format!("line {number}"), &format!("LINE {number}")))
    });
    for end in join_all(edits).await {
        end.unwrap();
    }
    assert_eq!(ground.read("a"), lines.to_uppercase());
    assert_eq!(ground.names("."), ["a"]);
    // Each was recorded with what the one before it had written.
    let mut versions = vec![Digest::of(lines.as_bytes())];
    let mut changes: Vec<_> =
        seats.iter().map(|(_, seat)| seat.changes.lock().unwrap().remove(0)).collect();
    while let Some(next) = changes
        .iter()
        .position(|change| change.before.as_ref().unwrap().0.digest == *versions.last().unwrap())
    {
        versions.push(changes.remove(next).after.unwrap().digest);
    }
    assert!(changes.is_empty(), "{} changes overlap", changes.len());
}

#[tokio::test]
async fn of_two_agents_that_replace_what_both_read_one_is_refused() {
    let ground = Ground::with(&[("a", "one"), ("b", "one")]);
    let other = ground.seat.other("root.fixer-2");
    for (path, is_read) in [("a", true), ("new", false)] {
        if is_read {
            read(&ground.seat, path).await;
            read(&other, path).await;
        }
        let calls = [write(&ground.seat, path, "mine"), write(&other, path, "theirs, all of it")];
        let [mine, theirs]: [_; 2] = join_all(calls).await.try_into().unwrap();
        assert_ne!(mine.is_ok(), theirs.is_ok(), "{mine:?} {theirs:?}");
        let winner = if mine.is_ok() { "mine" } else { "theirs, all of it" };
        assert_eq!(ground.read(path), winner);
    }
}

#[tokio::test]
async fn a_person_who_saves_at_the_last_moment_loses_nothing() {
    let calls = [
        ("write_file", json!({ "path": "a", "content": "mine" })),
        ("edit_file", edit("one", "mine")),
        ("delete_file", json!({ "path": "a" })),
        ("write_file", json!({ "path": "new", "content": "mine" })),
    ];
    for (tool, arguments) in calls {
        let ground = Ground::with(&[("a", "one")]);
        read(&ground.seat, "a").await;
        let path = arguments["path"].as_str().unwrap();
        let file = ground.at(path);
        *ground.seat.meanwhile.lock().unwrap() =
            Some(Box::new(move || fs::write(file, "theirs").unwrap()));
        let error = ground.seat.call(tool, arguments.clone()).await.unwrap_err();
        assert!(error.ends_with("somebody changed it just now: read it again"), "{tool}: {error}");
        assert_eq!(ground.read(path), "theirs", "{tool}");
        // Nor is anything left lying about, or taken for done.
        assert!(ground.names(".").iter().all(|name| name == "a" || name == path), "{tool}");
        assert_eq!(ground.seat.facts.lock().unwrap().len(), 1, "{tool}");
    }
}

#[tokio::test]
async fn a_stopped_call_changes_nothing() {
    let ground = Ground::with(&[("a", "one")]);
    read(&ground.seat, "a").await;
    ground.seat.token.cancel();
    let calls = [
        ("write_file", json!({ "path": "a", "content": "mine" })),
        ("edit_file", edit("one", "two")),
        ("delete_file", json!({ "path": "a" })),
    ];
    for (tool, arguments) in calls {
        let error = ground.seat.call(tool, arguments).await.unwrap_err();
        assert!(error.contains("stopped"), "{tool}: {error}");
    }
    assert_eq!(ground.read("a"), "one");
}

#[tokio::test]
async fn what_is_no_file_is_refused_with_a_hint() {
    let ground = Ground::with(&[("dir/a", "one")]);
    let error = write(&ground.seat, "dir", "x").await.unwrap_err();
    assert_eq!(error, "`dir` is a directory: name a file");
    let error = write(&ground.seat, "new/", "x").await.unwrap_err();
    assert_eq!(error, "`new/` is the name of a directory: name a file");
    let error = write(&ground.seat, "dir/a/b", "x").await.unwrap_err();
    assert!(error.starts_with("`dir/a/b`: Not a directory"), "{error}");
    let error = write(&ground.seat, "/", "x").await.unwrap_err();
    assert!(error.contains("directory"), "{error}");
    let delete = async |path: &str| {
        ground.seat.call("delete_file", json!({ "path": path })).await.unwrap_err()
    };
    let hint = "is a directory: delete what is in it file by file, or remove it with a command";
    assert_eq!(delete("dir").await, format!("`dir` {hint}"));
    assert_eq!(delete("dir/..").await, format!("`dir/..` {hint}"));
    assert!(delete("none").await.starts_with("`none`: No such file"));
    assert!(delete("none/none").await.starts_with("`none/none`: No such file"));
    let error = ground.seat.call("edit_file", edit("x", "y")).await.unwrap_err();
    assert!(error.starts_with("`a`: No such file"), "{error}");
    assert_eq!(ground.names("."), ["dir"]);
}

/// Root may write everything, so there is nothing to see for it.
#[tokio::test]
async fn a_file_that_may_not_be_written_is_not_replaced_either() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let ground = Ground::with(&[("a", "one")]);
    fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o444)).unwrap();
    let error = ground.seat.call("edit_file", edit("one", "two")).await.unwrap_err();
    assert!(error.starts_with("`a`: Permission denied"), "{error}");
    assert_eq!(ground.read("a"), "one");
}

/// Only root can give files away.
#[tokio::test]
async fn a_file_stays_with_its_owner() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let ground = Ground::with(&[("a", "one")]);
    chown(ground.at("a"), Some(1234), Some(2345)).unwrap();
    fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o6755)).unwrap();
    ground.seat.call("edit_file", edit("one", "two")).await.unwrap();
    let metadata = fs::metadata(ground.at("a")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode()), (1234, 2345, 0o106_755));
}
