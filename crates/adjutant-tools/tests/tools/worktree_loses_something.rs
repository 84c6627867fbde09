//! An agent works in a copy of a directory, and all that it did comes back or is kept.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use adjutant_core::{
    Access, AgentPath, Bench, Charter, Fact, Grant, Handed, Handover, Mode, StandIn, Wish,
    Workshop as _,
};
use adjutant_tools::{Files, Worktrees};
use tempfile::TempDir;

use crate::seat::{Seat, until};

/// Names that are easily damaged.
const AWKWARD: [&str; 7] =
    ["with space", "ümläut/🦀", "new\nline", "tab\tand\"quote", "-dash", "back\\slash", "[glob]*"];

/// A repository, and a place for worktrees beside it.
struct Ground {
    _keep: TempDir,
    repo: PathBuf,
    shop: Worktrees,
}

impl Ground {
    fn new() -> Self {
        let ground = Self::bare_bones();
        ground.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        ground
    }

    /// A repository without a commit.
    fn bare_bones() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let (repo, directory) = (top.join("repo"), top.join("data/session"));
        fs::create_dir(&repo).unwrap();
        let shop = Worktrees { directory, files: Arc::new(Files::default()) };
        let ground = Self { _keep: keep, repo, shop };
        ground.git(&["init", "-q", "-b", "main"]);
        ground
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repo, arguments)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.repo, name, content);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.repo.join(name)).unwrap()
    }

    /// Commits everything.
    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "more"]);
    }

    /// Returns what git knows, letter by letter: the index, where the branches are, and how the
    /// files stand.
    fn known(&self) -> (Vec<u8>, String, String) {
        let refs = self.git(&["for-each-ref"]) + &self.git(&["symbolic-ref", "HEAD"]);
        // Asked last, and so that the index is not brought up to date by it.
        let index = fs::read(self.repo.join(".git/index")).unwrap_or_default();
        let status = self.git(&["--no-optional-locks", "status", "--porcelain=v2", "-z"]);
        (index, refs, status)
    }

    async fn open(&self, agent: &str) -> Child {
        self.open_from(agent, &self.repo, &parent(&self.repo)).await
    }

    async fn open_from(&self, agent: &str, directory: &Path, parent: &Grant) -> Child {
        let agent: AgentPath = agent.parse().unwrap();
        let bench = self.shop.open(&agent, directory).await.unwrap();
        let StandIn { place, original } = bench.stand_in().clone();
        assert_eq!(original, directory);
        let stand_in = StandIn { place: place.clone(), original };
        let (grant, _) = parent.narrow_into(agent.clone(), &Wish::default(), stand_in).unwrap();
        let seat = Seat { agent, grant, ..Seat::at(&place) };
        Child { bench, place, seat }
    }

    fn worktrees(&self) -> usize {
        self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
    }

    /// Returns what is left of worktrees.
    fn left(&self) -> Vec<PathBuf> {
        let entries = ["worktrees", "scratch"].map(|name| {
            let entries = fs::read_dir(self.shop.directory.join(name));
            entries.into_iter().flatten().map(|entry| entry.unwrap().path())
        });
        entries.into_iter().flatten().collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "there is no composition root in a test")]
fn parent(directory: &Path) -> Grant {
    let (access, scope) = (Access::Inherit, vec![directory.to_owned()]);
    let (rules, protected) = (Vec::new(), Vec::new());
    Grant::mint(Charter { mode: Mode::Auto, rules, access, scope, protected, depth: 3 })
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(top: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns every file below a directory but for git's own: its content or where it points, and
/// its mode.
fn everything(top: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let mut all = BTreeMap::new();
    let mut ahead = vec![top.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(top).unwrap().to_owned();
            if name == Path::new(".git") {
            } else if metadata.is_dir() {
                ahead.push(path);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string();
                all.insert(name, (target.into_encoded_bytes(), 0o120_777));
            } else {
                let content = fs::read(&path).unwrap();
                all.insert(name, (content, metadata.permissions().mode()));
            }
        }
    }
    all
}

/// An agent in its worktree.
struct Child {
    bench: Box<dyn Bench>,
    place: PathBuf,
    seat: Seat,
}

impl Child {
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.place, name, content);
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.place.join(name)).unwrap();
    }

    async fn done(self) -> Option<Handover> {
        self.bench.close(None, &self.seat).await
    }

    async fn failed(self) -> Handover {
        self.bench.close(Some("it failed".into()), &self.seat).await.unwrap()
    }
}

fn conflict(handover: &Handover) -> (&[String], &str) {
    match &handover.handed {
        Handed::Conflict { files, worktree } => (files, worktree),
        other => panic!("{other:?}"),
    }
}

fn kept(handover: &Handover) -> (&str, &str) {
    match &handover.handed {
        Handed::Kept { why, worktree } => (why, worktree),
        other => panic!("{other:?}"),
    }
}

/// A repository in the middle of somebody's work.
fn dirty() -> Ground {
    let ground = Ground::new();
    ground.write(".gitignore", "ignored*\n");
    ground.write(".gitattributes", "*.txt text eol=crlf\n*.sec filter=secret\n");
    for name in ["committed", "staged", "both", "changed", "removed", "deep/down/file", "win.txt"] {
        ground.write(name, format!("{name}\nsecond line\n"));
    }
    ground.write("x.sec", "plain");
    ground.write("binary", b"\0\x01\xff\xfe\n\0");
    ground.write("script", "#!/bin/sh\n");
    set_mode(&ground.repo.join("script"), 0o755);
    symlink("committed", ground.repo.join("link")).unwrap();
    AWKWARD.iter().for_each(|name| ground.write(name, name));
    ground.commit();
    ground.write("staged", "staged\n");
    ground.write("both", "staged\n");
    ground.write("win.txt", "one\r\ntwo\nthree\r\n");
    ground.git(&["add", "staged", "both"]);
    ground.write("both", "staged, then changed\n");
    ground.write("changed", "changed\n");
    ground.write("untracked", "untracked\n");
    ground.write("new/untracked", "untracked\r\n");
    ground.write("ignored", "secret\n");
    fs::remove_file(ground.repo.join("removed")).unwrap();
    ground
}

#[tokio::test]
async fn a_worktree_is_what_the_directory_is_letter_by_letter() {
    let ground = dirty();
    // Whatever would run would leave a trace.
    let trace = ground.repo.parent().unwrap().join("trace");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "post-commit"] {
        let path = ground.repo.join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\necho {hook} >> {}\n", trace.display())).unwrap();
        set_mode(&path, 0o755);
    }
    let filter = format!("sh -c 'echo filter >> {}; cat'", trace.display());
    for what in ["clean", "smudge"] {
        ground.git(&["config", &format!("filter.secret.{what}"), &filter]);
    }
    ground.git(&["config", "core.autocrlf", "true"]);
    let before = (everything(&ground.repo), ground.known());
    fs::remove_file(&trace).ok();
    let child = ground.open("root.a-1").await;
    let mut expected = before.0.clone();
    expected.remove(Path::new("ignored"));
    assert_eq!(everything(&child.place), expected);
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
    assert_eq!((everything(&ground.repo), ground.known()), before);
    // It is a worktree whose history is the repository's.
    assert_eq!(git(&child.place, &["log", "--format=%s", "-1", "HEAD^"]), "more\n");
    assert_eq!(ground.worktrees(), 1);
    fs::remove_file(&trace).ok();
    assert!(child.done().await.is_none());
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
    assert_eq!((everything(&ground.repo), ground.known()), before);
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
}

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
async fn a_worktree_of_a_worktree_hands_over_to_it() {
    let ground = Ground::new();
    ground.write("file", "1\n2\n3\n4\n5\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.write("file", "one\n2\n3\n4\n5\n");
    let below = ground.open_from("root.a-1.b-1", &child.place, &child.seat.grant).await;
    assert_eq!(fs::read_to_string(below.place.join("file")).unwrap(), "one\n2\n3\n4\n5\n");
    below.write("file", "one\n2\n3\n4\nfive\n");
    assert_eq!(below.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "1\n2\n3\n4\n5\n");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "one\n2\n3\n4\nfive\n");
    assert_eq!((ground.worktrees(), ground.left().len()), (0, 0));
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
async fn a_repository_without_a_commit_will_do() {
    let ground = Ground::bare_bones();
    ground.write("file", "one\n");
    let child = ground.open("root.a-1").await;
    child.write("file", "two\n");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert_eq!(ground.read("file"), "two\n");
    assert_eq!(ground.git(&["status", "--porcelain"]), "?? file\n");
}

#[tokio::test]
async fn a_repository_that_names_things_otherwise_will_do() {
    let ground = Ground::bare_bones();
    fs::remove_dir_all(ground.repo.join(".git")).unwrap();
    ground.git(&["init", "-q", "--object-format=sha256"]);
    ground.write("file", "one\n");
    ground.commit();
    let child = ground.open("root.a-1").await;
    child.remove("file");
    assert_eq!(child.done().await.unwrap().handed, Handed::Applied);
    assert!(!ground.repo.join("file").exists());
}

#[tokio::test]
async fn an_agent_works_where_its_parent_does() {
    let ground = Ground::new();
    ground.write("src/file", "one\n");
    ground.write(".gitignore", "build\n");
    ground.commit();
    fs::create_dir_all(ground.repo.join("build/empty")).unwrap();
    for workdir in ["src", "build/empty"] {
        let agent: AgentPath = "root.a-1".parse().unwrap();
        let bench = ground.shop.open(&agent, &ground.repo.join(workdir)).await.unwrap();
        let stand_in = bench.stand_in();
        assert_eq!(stand_in.original, ground.repo);
        assert!(stand_in.place_of(&ground.repo.join(workdir)).is_dir());
    }
}

async fn refusal(shop: &Worktrees, directory: &Path) -> String {
    let agent: AgentPath = "root.a-1".parse().unwrap();
    shop.open(&agent, directory).await.err().unwrap().to_string()
}

#[tokio::test]
async fn where_there_can_be_no_worktree_it_is_said_why_and_what_to_do() {
    let ground = Ground::new();
    let outside = ground.repo.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    let bare = ground.repo.parent().unwrap().join("bare");
    git(&outside, &["init", "-q", "--bare", bare.to_str().unwrap()]);
    for directory in [&outside, &bare] {
        let why = refusal(&ground.shop, directory).await;
        let expected = format!("`{}` is in no working tree of git", directory.display());
        assert!(why.contains(&expected) && why.contains("leave `isolation` out"), "{why}");
    }
    let files = Arc::new(Files::default());
    let shop = Worktrees { directory: ground.repo.join(".data"), files };
    let why = refusal(&shop, &ground.repo).await;
    assert!(why.contains("where it would be, is inside"), "{why}");
    assert!(!ground.repo.join(".data").exists());
    assert_eq!(ground.left().len(), 0);
}

#[tokio::test]
async fn one_that_is_not_waited_for_leaves_nothing() {
    let ground = Ground::new();
    for number in 0..100 {
        ground.write(&format!("dir-{number}/file"), vec![b'x'; 10_000]);
    }
    let agent: AgentPath = "root.a-1".parse().unwrap();
    let moments = std::iter::successors(Some(0), |moment| Some(moment + 1 + moment / 2));
    for moment in moments {
        let mut steps = 0;
        let mut open = ground.shop.open(&agent, &ground.repo);
        let polled = std::future::poll_fn(|context| {
            steps += 1;
            if steps > moment {
                return std::task::Poll::Ready(None);
            }
            open.as_mut().poll(context).map(Some)
        });
        if polled.await.is_some() {
            assert!(moment > 10, "{moment}");
            break;
        }
        drop(open);
        // The copying stops by itself, at the next file.
        let gone = until(|| ground.left().is_empty());
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
        assert_eq!(ground.worktrees(), 0);
    }
}

#[tokio::test]
async fn the_same_agent_gets_another_place_when_one_is_left_from_before() {
    let ground = Ground::new();
    let first = ground.open("root.a-1").await;
    first.write("file", "first");
    let kept = first.failed().await;
    let second = ground.open("root.a-1").await;
    second.write("file", "second");
    let again = second.failed().await;
    assert_ne!(kept.patch, again.patch);
    let places = ground.left();
    let contents = places.iter().filter_map(|place| fs::read_to_string(place.join("file")).ok());
    let mut contents: Vec<_> = contents.collect();
    contents.sort();
    assert_eq!(contents, ["first", "second"]);
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
