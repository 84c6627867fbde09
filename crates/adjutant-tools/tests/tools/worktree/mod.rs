//! An agent works in a copy of a directory, and all that it did comes back or is kept.

mod others_are_trampled;
mod place_goes_wrong;
mod work_is_lost;

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
    Grant::mint(Charter {
        mode: Mode::Auto,
        rules,
        access,
        scope,
        protected,
        shown: Vec::new(),
        depth: 3,
    })
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
