//! What others did meanwhile, or elsewhere, stays.

use super::*;

#[tokio::test]
async fn two_agents_that_change_one_file_in_different_places_both_get_in() {
    let ground = Ground::new();
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\r\n");
    ground.write("file", lines("1", "9"));
    ground.commit();
    let (one, two) = (ground.open("root.a-1").await, ground.open("root.a-2").await);
    one.write("file", lines("first", "9"));
    two.write("file", lines("1", "last"));
    set_mode(&two.place.join("file"), 0o755);
    assert_eq!(one.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(two.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), lines("first", "last"));
    let mode = fs::metadata(ground.repo.join("file")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[tokio::test]
async fn two_agents_that_change_one_line_are_a_conflict_and_nothing_is_lost() {
    let ground = Ground::new();
    ground.write("file", "one\n");
    ground.write("other", "a\n");
    ground.commit();
    let (one, two) = (ground.open("root.a-1").await, ground.open("root.a-2").await);
    one.write("file", "first\n");
    two.write("file", "second\n");
    two.write("other", "b\n");
    two.write("also new", "c\n");
    assert_eq!(one.done().await.unwrap().handed, Handed::Applied);
    let before = everything(&ground.repo);
    let place = two.place.clone();
    let handover = two.done().await.unwrap();
    let (files, worktree) = conflict(&handover);
    assert_eq!((files, Path::new(worktree)), (&["file".to_owned()][..], place.as_path()));
    assert_eq!(everything(&ground.repo), before, "all or none");
    assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "second\n");
    // What the words say can be done.
    let words = handover.to_string();
    let by_hand = format!("git apply --reject '{}'", handover.patch.as_ref().unwrap());
    assert!(words.contains(&by_hand) && words.contains("`file`"), "{words}");
    let run = Command::new("sh").args(["-c", &by_hand]).current_dir(&handover.directory).output();
    assert!(!run.unwrap().status.success());
    assert_eq!((ground.read("other"), ground.read("also new")), ("b\n".into(), "c\n".into()));
    assert!(ground.read("file.rej").contains("+second"), "{}", ground.read("file.rej"));
}

#[tokio::test]
async fn what_others_did_meanwhile_stays() {
    let ground = Ground::new();
    let names =
        ["kept", "both", "agreed", "removed by both", "removed here", "removed there", "picture"];
    names.iter().for_each(|name| ground.write(name, format!("{name}\n")));
    ground.write("picture", b"\0one");
    ground.commit();
    let child = ground.open("root.a-1").await;
    ground.write("kept", "by a person\n");
    ground.write("agreed", "the same\n");
    child.write("agreed", "the same\n");
    child.write("new", "by the agent\n");
    fs::remove_file(ground.repo.join("removed by both")).unwrap();
    child.remove("removed by both");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(
        (ground.read("kept"), ground.read("agreed")),
        ("by a person\n".into(), "the same\n".into())
    );
    assert!(!ground.repo.join("removed by both").exists());

    let child = ground.open("root.a-2").await;
    child.write("removed here", "changed\n");
    fs::remove_file(ground.repo.join("removed here")).unwrap();
    child.remove("removed there");
    ground.write("removed there", "changed\n");
    child.write("picture", b"\0two");
    ground.write("picture", b"\0three");
    child.write("made by both", "one");
    ground.write("made by both", "two");
    child.write("in the way", "file");
    ground.write("in the way/of", "directory");
    let before = everything(&ground.repo);
    let handover = child.done().await.unwrap();
    let expected = ["in the way", "made by both", "picture", "removed here", "removed there"];
    assert_eq!(conflict(&handover).0, expected);
    assert_eq!(everything(&ground.repo), before);
}

#[tokio::test]
async fn a_failure_on_the_way_takes_back_what_was_made() {
    let ground = Ground::new();
    for name in ["a", "b", "c", "dir/only"] {
        ground.write(name, format!("{name}\n"));
    }
    ground.commit();
    let child = ground.open("root.a-1").await;
    for name in ["a", "b", "c"] {
        child.write(name, "changed\n");
    }
    child.remove("dir/only");
    child.write("made/new", "x");
    let before = everything(&ground.repo);
    // Somebody writes when all is decided and the first change is about to be made.
    let file = ground.repo.join("c");
    let writes = move || fs::write(file, "by a person\n").unwrap();
    *child.seat.meanwhile.lock().unwrap() = Some(Box::new(writes));
    let handover = child.done().await.unwrap();
    let (why, _) = kept(&handover);
    assert!(why.starts_with("somebody changed") && why.contains("/c` just now"), "{why}");
    let mut expected = before;
    expected.insert("c".into(), (b"by a person\n".to_vec(), 0o100_644));
    assert_eq!(everything(&ground.repo), expected);
    assert!(!ground.repo.join("made").exists());
}

#[tokio::test]
async fn what_somebody_wrote_over_a_change_is_not_taken_back_with_it() {
    let ground = Ground::new();
    ["a", "b", "c"].iter().for_each(|name| ground.write(name, "old\n"));
    ground.commit();
    let child = ground.open("root.a-1").await;
    ["a", "b", "c"].iter().for_each(|name| child.write(name, "new\n"));
    // Once the first change is made, and before the second is recorded.
    let (repo, changes) = (ground.repo.clone(), Arc::clone(&child.seat.changes));
    let writes = move || {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _nobody_records = changes.lock().unwrap();
            tell.send(()).unwrap();
            while fs::read_to_string(repo.join("a")).unwrap() != "new\n" {
                std::thread::yield_now();
            }
            fs::write(repo.join("a"), "by a person\n").unwrap();
            fs::write(repo.join("c"), "by a person\n").unwrap();
        });
        told.recv().unwrap();
    };
    *child.seat.meanwhile.lock().unwrap() = Some(Box::new(writes));
    let handover = child.done().await.unwrap();
    let (why, _) = kept(&handover);
    assert!(why.contains("/c` just now, and not all that was made could be taken back"), "{why}");
    assert!(why.ends_with("/a` just now"), "{why}");
    assert_eq!(
        ["a", "b", "c"].map(|name| ground.read(name)),
        ["by a person\n", "old\n", "by a person\n"]
    );
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_not_followed() {
    let ground = Ground::new();
    let outside = ground.repo.parent().unwrap().join("outside");
    write(&outside, "file", "theirs\n");
    write(&outside, "secret", "secret\n");
    ground.write("dir/file", "theirs\n");
    ground.write("dir/secret", "nothing\n");
    ground.write("last", "theirs\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("dir/file", "ours\n");
    child.write("dir/new", "ours\n");
    child.write("last", "ours\n");
    fs::remove_dir_all(ground.repo.join("dir")).unwrap();
    symlink(&outside, ground.repo.join("dir")).unwrap();
    fs::remove_file(ground.repo.join("last")).unwrap();
    symlink(outside.join("file"), ground.repo.join("last")).unwrap();
    let before = everything(&outside);
    let handover = child.done().await.unwrap();
    assert_eq!(conflict(&handover).0, ["dir/file", "dir/new", "last"]);
    assert_eq!(everything(&outside), before);
    // Nor is anything read through it.
    let child = ground.open("root.a-2").await;
    assert!(!child.place.join("dir/secret").exists() || child.place.join("dir").is_symlink());
    assert_eq!(fs::read_link(child.place.join("last")).unwrap(), outside.join("file"));
}

#[tokio::test]
async fn an_agent_that_replaces_a_directory_by_a_link_removes_nothing_outside() {
    let ground = Ground::new();
    let outside = ground.repo.parent().unwrap().join("outside");
    write(&outside, "file", "theirs\n");
    ground.write("dir/file", "ours\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    fs::remove_dir_all(child.place.join("dir")).unwrap();
    symlink(&outside, child.place.join("dir")).unwrap();
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(fs::read_link(ground.repo.join("dir")).unwrap(), outside);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "theirs\n");
}

#[tokio::test]
async fn what_steers_git_or_the_runtime_is_not_handed_over_without_a_person() {
    for name in [".mcp.json", ".adjutant/config.toml", "sub/.ADJUTANT/x"] {
        let ground = Ground::new();
        let child = ground.open("root.a-1").await;
        child.write(name, "run this");
        child.write("harmless", "x");
        let handover = child.done().await.unwrap();
        let (why, _) = kept(&handover);
        assert_eq!(why, format!("`{name}` is not the agent's to change"));
        assert!(everything(&ground.repo).is_empty());
    }
}

#[tokio::test]
async fn another_agent_is_told_who_changed_the_file() {
    let ground = Ground::new();
    ground.write("file", "one\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("file", "two\n");
    let path = ground.repo.join("file");
    let files = Arc::clone(&ground.shop.files);
    files.saw(&AgentPath::root(), &path, files.whole(b"one\n"));
    child.done().await.unwrap();
    let now = adjutant_tools::Current { content: b"two\n", stamp: None };
    let stale = files.check(&AgentPath::root(), &path, Some(now)).unwrap_err();
    assert_eq!(stale.to_string(), "changed since you read it, by `root.a-1`: read it again");
}

#[tokio::test]
async fn a_change_waits_for_the_turn_of_whoever_writes_the_file() {
    let ground = Ground::new();
    ground.write("file", "one\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("file", "two\n");
    let turn = ground.shop.files.turn(&ground.repo.join("file")).await;
    let Child { bench, seat, .. } = child;
    let mut done = Box::pin(bench.close(None, &seat));
    let waits = tokio::time::timeout(Duration::from_millis(300), &mut done).await;
    assert!(waits.is_err());
    assert_eq!(ground.read("file"), "one\n");
    drop(turn);
    assert_eq!(done.await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "two\n");
}
