//! All that an agent did in its worktree comes back, or is kept and named.

use super::*;

#[tokio::test]
async fn everything_an_agent_did_comes_back_and_nothing_else_changes() {
    let ground = dirty();
    let child = ground.open("root.a-1").await;
    let index = ground.known().0;
    let mut expected = everything(&ground.repo);
    let mut expect = |name: &str, content: &[u8], mode| {
        child.remove(name);
        child.write(name, content);
        set_mode(&child.place.join(name), mode & 0o777);
        expected.insert(name.into(), (content.to_vec(), mode));
    };
    for name in ["committed", "staged", "both", "changed", "untracked", "deep/down/file"] {
        expect(name, format!("{name} by the agent").as_bytes(), 0o100_644);
    }
    expect("win.txt", b"one\r\n2\nthree\r\n", 0o100_644);
    expect("binary", b"\0\x02\xff\xfe\n\0", 0o100_644);
    expect("x.sec", b"\x00\r\n", 0o100_644);
    AWKWARD.iter().for_each(|name| expect(name, b"awkward", 0o100_644));
    expect("script", b"#!/bin/sh\n", 0o100_644);
    expect("new/untracked", b"untracked\r\n", 0o100_755);
    child.write("made/by/agent", "new\n");
    set_mode(&child.place.join("made/by/agent"), 0o600);
    expected.insert("made/by/agent".into(), (b"new\n".to_vec(), 0o100_600));
    child.remove(".gitignore");
    expected.remove(Path::new(".gitignore"));
    child.remove("link");
    symlink("/etc/passwd", child.place.join("link")).unwrap();
    expected.insert("link".into(), (b"/etc/passwd".to_vec(), 0o120_777));
    let handover = child.done().await.unwrap();
    assert_eq!(handover.handed, Handed::Applied, "{handover}");
    assert_eq!(everything(&ground.repo), expected);
    assert_eq!(ground.known().0, index);
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
    assert_eq!(handover.files.len(), expected_files(), "{:?}", handover.files);
    assert!(Path::new(&handover.patch.unwrap()).exists());
}

/// The files that are changed above: those named one by one, the awkward ones, and four more.
fn expected_files() -> usize {
    11 + AWKWARD.len() + 3
}

#[tokio::test]
async fn files_and_directories_change_places() {
    let ground = Ground::new();
    for name in ["file", "dir/one", "dir/deep/two", "moved/from", "stays/other", "stays/goes"] {
        ground.write(name, format!("{name}\n"));
    }
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.remove("file");
    child.write("file/below", "now a directory\n");
    fs::remove_dir_all(child.place.join("dir")).unwrap();
    child.write("dir", "now a file\n");
    fs::create_dir(child.place.join("to")).unwrap();
    fs::rename(child.place.join("moved/from"), child.place.join("to/here")).unwrap();
    child.remove("stays/goes");
    let expected: Vec<_> = everything(&child.place).into_iter().collect();
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(everything(&ground.repo).into_iter().collect::<Vec<_>>(), expected);
    // A directory goes with the last file in it.
    assert!(!ground.repo.join("moved").exists());
    assert!(ground.repo.join("stays").exists());
}

#[tokio::test]
async fn every_change_is_recorded_with_what_was_there() {
    let ground = Ground::new();
    ground.write("changed", "old\n");
    ground.write("gone", "gone\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("changed", "new\n");
    child.write("made/new", "made\n");
    child.remove("gone");
    let Child { bench, seat, .. } = child;
    bench.close(None, &seat).await.unwrap();
    let changes = seat.changes.lock().unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| {
            let name =
                Path::new(&change.path).strip_prefix(&ground.repo).unwrap().to_str().unwrap();
            let before = change.before.as_ref().map(|(state, content)| {
                assert_eq!(state.bytes, content.len() as u64);
                String::from_utf8_lossy(content).into_owned()
            });
            (name.to_owned(), before, change.after.as_ref().map(|state| (state.bytes, state.mode)))
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        ("gone".to_owned(), text("gone\n"), None),
        ("changed".to_owned(), text("old\n"), Some((4, 0o100_644))),
        ("made".to_owned(), None, Some((0, 0o040_755))),
        ("made/new".to_owned(), None, Some((5, 0o100_644))),
    ];
    assert_eq!(told, expected);
    let facts = seat.facts.lock().unwrap();
    let modified: Vec<_> = facts.iter().map(|fact| matches!(fact, Fact::Modified { .. })).collect();
    assert_eq!(modified, [true; 3]);
}

#[tokio::test]
async fn what_an_agent_did_that_failed_is_kept_and_can_be_applied() {
    let ground = Ground::new();
    ground.write("file", "one\r\ntwo\n");
    ground.write("binary", b"\0\x01");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("file", "1\r\ntwo\n");
    child.write("binary", b"\0\x02");
    AWKWARD.iter().for_each(|name| child.write(name, "new"));
    let (place, before) = (child.place.clone(), everything(&ground.repo));
    let expected = everything(&child.place);
    let handover = child.failed().await;
    assert_eq!(kept(&handover), ("it failed", place.to_str().unwrap()));
    assert_eq!(everything(&ground.repo), before);
    assert_eq!((everything(&place), ground.worktrees()), (expected.clone(), 1));
    let by_hand = format!("git apply '{}'", handover.patch.as_ref().unwrap());
    assert!(handover.to_string().contains(&by_hand), "{handover}");
    let run = Command::new("sh").args(["-c", &by_hand]).current_dir(&handover.directory).status();
    assert!(run.unwrap().success());
    assert_eq!(everything(&ground.repo), expected);
}

#[tokio::test]
async fn what_an_agent_committed_counts_like_what_it_did_not() {
    let ground = Ground::new();
    ground.write("file", "one\n");
    ground.commit();
    let (child, known) = (ground.open("root.a-1").await, ground.known());
    child.write("file", "two\n");
    child.write("new", "x");
    git(&child.place, &["add", "-A"]);
    git(&child.place, &["commit", "-q", "-m", "by the agent"]);
    child.write("file", "three\n");
    git(&child.place, &["rm", "-q", "--cached", "new"]);
    assert_eq!(child.done().await.unwrap().files, ["file", "new"]);
    assert_eq!((ground.read("file"), ground.read("new")), ("three\n".into(), "x".into()));
    assert_eq!(ground.known().0, known.0);
}

#[tokio::test]
async fn a_change_that_leaves_length_and_moment_as_they_were_is_seen() {
    let ground = Ground::new();
    ground.write("file", "one\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    let path = child.place.join("file");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "two\n").unwrap();
    fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(child.done().await.unwrap().files, ["file"]);
    assert_eq!(ground.read("file"), "two\n");
}

#[tokio::test]
async fn what_is_left_out_is_named() {
    let ground = Ground::new();
    ground.write(".gitignore", "target/\n*.log\n");
    ground.commit();
    let inner = ground.repo.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q"]);
    write(&inner, "file", "x");
    let child = ground.open("root.a-1").await;
    assert!(!child.place.join("inner").exists());
    child.write("target/debug/a", "x");
    child.write("a.log", "x");
    child.write("new", "x");
    let handover = child.done().await.unwrap();
    assert_eq!(handover.handed, Handed::Applied);
    let expected = [
        "`inner/` is a repository of its own and was left out",
        "not handed over, since git ignores it: `a.log`, `target/`",
    ];
    assert_eq!(handover.left_out, expected);
    assert!(handover.to_string().ends_with(expected[1]), "{handover}");
}

#[tokio::test]
async fn work_that_git_ignores_is_kept_when_there_is_no_other() {
    let ground = Ground::new();
    ground.write(".gitignore", "*.log\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("a.log", "found it");
    let handover = child.done().await.unwrap();
    let (why, worktree) = kept(&handover);
    assert_eq!(why, "git ignores all it made: `a.log`");
    assert_eq!(fs::read_to_string(Path::new(worktree).join("a.log")).unwrap(), "found it");
    assert_eq!((handover.patch.as_deref(), ground.worktrees()), (None, 1));
}

#[tokio::test]
async fn of_very_many_files_some_are_listed_and_all_are_handed_over() {
    let ground = Ground::new();
    let child = ground.open("root.a-1").await;
    (0..1002).for_each(|number| child.write(&format!("file-{number:04}"), "x"));
    let Child { bench, seat, .. } = child;
    let handover = bench.close(None, &seat).await.unwrap();
    assert_eq!((&handover.handed, handover.files.len()), (&Handed::Applied, 1000));
    assert_eq!(handover.left_out, ["2 more files are not listed; the patch has them all"]);
    assert_eq!(seat.facts.lock().unwrap().len(), 1000);
    assert_eq!(everything(&ground.repo).len(), 1002);
    let patch = fs::read_to_string(handover.patch.unwrap()).unwrap();
    assert_eq!(patch.matches("\ndiff --git ").count(), 1001);
}

#[tokio::test]
async fn a_repository_an_agent_made_is_kept_with_all_the_rest() {
    let ground = Ground::new();
    let child = ground.open("root.a-1").await;
    child.write("new", "x");
    fs::create_dir(child.place.join("inner")).unwrap();
    git(&child.place.join("inner"), &["init", "-q"]);
    child.write("inner/file", "x");
    let place = child.place.clone();
    let handover = child.done().await.unwrap();
    assert!(kept(&handover).0.starts_with("`inner/` is a repository of its own"), "{handover}");
    assert!(place.join("inner/file").exists() && !ground.repo.join("new").exists());
    // There is no patch, so nobody is told to apply it.
    assert_eq!(handover.patch, None);
    assert!(!handover.to_string().contains("git apply"), "{handover}");
}

#[tokio::test]
async fn a_name_that_is_no_text_comes_back_too() {
    use std::os::unix::ffi::OsStrExt as _;
    let ground = Ground::new();
    let name = OsStr::from_bytes(b"odd-\xff");
    fs::write(ground.repo.join(name), "one").unwrap();
    let child = ground.open("root.a-1").await;
    fs::write(child.place.join(name), "two").unwrap();
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(fs::read(ground.repo.join(name)).unwrap(), b"two");
}
