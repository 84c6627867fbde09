//! Git worktrees, in which agents work alone.
//!
//! ```text
//!  the parent's directory ──copy──▶ worktree ──▶ patch ──merge──▶ the parent's directory
//!          base tree ◀──────────────────┘         (kept in any case)
//! ```
//!
//! A worktree begins as what is in the directory: also what is not committed, and what git does
//! not know of and does not ignore. It is kept apart from the project, in a directory of the
//! session's own. What the agent left there, and not what it committed, is what it hands over.

mod apply;
mod difference;
mod git;
mod tree;

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use adjutant_core::{
    AgentPath, Bench, Handed, Handover, Host, Mode, Refusal, StandIn, ToolError, Workshop,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::{
    apply::{Route, apply},
    difference::{Difference, differences},
    git::{Git, Repository},
    tree::{Found, Seen},
};
use crate::{blocking, files::Files};

/// The most ignored files that are named.
const MOST_IGNORED: usize = 5;

/// Makes worktrees for a session.
pub struct Worktrees {
    /// Where they are, and what they leave behind.
    pub directory: PathBuf,
    /// What is known of files, by all that change them.
    pub files: Arc<Files>,
}

impl Workshop for Worktrees {
    fn open<'a>(
        &'a self,
        agent: &'a AgentPath,
        workdir: &'a Path,
    ) -> BoxFuture<'a, Result<Box<dyn Bench>, Refusal>> {
        Box::pin(async {
            let opened = self.make(agent, workdir).await.map_err(Refusal::NoWorktree)?;
            Ok(Box::new(opened) as _)
        })
    }
}

impl Worktrees {
    async fn make(&self, agent: &AgentPath, workdir: &Path) -> Result<Worktree, String> {
        let repository = Repository::find(workdir).await?;
        let real = self.directory.ancestors().find_map(|above| above.canonicalize().ok());
        if real.is_some_and(|real| real.starts_with(&repository.top)) {
            let (ours, theirs) = (self.directory.display(), repository.top.display());
            return Err(format!("`{ours}`, where it would be, is inside `{theirs}`"));
        }
        let place = self
            .places(agent)
            .map_err(|error| format!("`{}` cannot be used: {error}", self.directory.display()))?;
        let stand_in = StandIn { place: place.tree.clone(), original: repository.top.clone() };
        let unfinished = Unfinished { place: &place, repository: &repository };
        let (found, base) = place.fill(&repository).await?;
        // Git knows of no directory in which there is nothing.
        let workdir = stand_in.place_of(workdir);
        let made = fs::create_dir_all(&workdir);
        made.map_err(|error| format!("`{}`: {error}", workdir.display()))?;
        unfinished.finish();
        let (over, files) = (SystemTime::now(), Arc::clone(&self.files));
        Ok(Worktree { repository, place, stand_in, base, found, over, files })
    }

    /// Makes room for an agent's worktree and what goes with it.
    fn places(&self, agent: &AgentPath) -> io::Result<Place> {
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        let [trees, patches, scratch] =
            ["worktrees", "patches", "scratch"].map(|name| self.directory.join(name));
        for directory in [&trees, &patches, &scratch] {
            make(directory)?;
        }
        let (mut name, mut number) = (agent.to_string(), 1);
        // One that is there since before the session was interrupted is left alone.
        while let Err(error) = DirBuilder::new().mode(0o700).create(trees.join(&name)) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            number += 1;
            name = format!("{agent}+{number}");
        }
        let (patch, scratch) = (patches.join(format!("{name}.patch")), scratch.join(&name));
        make(&scratch)?;
        Ok(Place { tree: trees.join(name).canonicalize()?, patch, scratch })
    }
}

/// Where a worktree and what goes with it is.
struct Place {
    tree: PathBuf,
    patch: PathBuf,
    /// For an index and other files that pass.
    scratch: PathBuf,
}

/// A place that is not a worktree yet, and in which nobody has worked. Dropped, it goes away.
struct Unfinished<'a> {
    place: &'a Place,
    repository: &'a Repository,
}

impl Unfinished<'_> {
    fn finish(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let Place { tree, scratch, .. } = self.place;
        // What is left is in nobody's way.
        let _ = fs::remove_dir_all(tree);
        let _ = fs::remove_dir_all(scratch);
        Git::at(&self.repository.top).forget(tree).now();
    }
}

impl Place {
    fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Asks git with an index of our own about the files of a directory.
    fn git(&self, repository: &Repository) -> Git {
        Git::at(&self.tree).with(&repository.common, &self.tree, &self.index())
    }

    /// Makes the worktree what the original is, and returns what that is.
    async fn fill(&self, repository: &Repository) -> Result<(Found, String), String> {
        let head = repository.head().await;
        let top = || Git::at(&repository.top);
        let first = match &head {
            Some(head) => head.clone(),
            None => {
                let empty = top().args(["hash-object", "-t", "tree", "-w", "--stdin"]);
                let empty = empty.name(b"").await?;
                top().args(["commit-tree", &empty]).name(b"nothing").await?
            }
        };
        let add = top().args(["worktree", "add", "--quiet", "--detach", "--no-checkout"]);
        add.args([self.tree.as_os_str(), first.as_ref()]).ask(b"").await?;
        let names = tree::names(top()).await?;
        let (from, to) = (repository.top.clone(), self.tree.clone());
        let token = CancellationToken::new();
        // If nobody waits for this any more, it stops.
        let stop = token.clone().drop_guard();
        let found = blocking::run(move || {
            let copied = tree::copy(names, &from, &to, &token);
            if token.is_cancelled() {
                let _ = fs::remove_dir_all(to);
            }
            copied.map_err(ToolError)
        });
        let found = found.await.map_err(|ToolError(why)| why)?;
        drop(stop);
        let base = self.keep(repository, &first, found.seen.iter(), &[]).await?;
        let mut commit = top().args(["commit-tree", &base]);
        if let Some(head) = &head {
            commit = commit.args(["-p", head]);
        }
        let commit = commit.name(b"What an agent began with\n").await?;
        let here = || Git::at(&self.tree);
        here().args(["update-ref", "--no-deref", "HEAD", &commit]).ask(b"").await?;
        here().args(["read-tree", &commit]).ask(b"").await?;
        Ok((found, base))
    }

    /// Keeps files in the repository, and returns the tree that is made of our index by that.
    async fn keep<'a>(
        &self,
        repository: &Repository,
        like: &str,
        files: impl Iterator<Item = (&'a PathBuf, &'a Seen)> + Clone,
        gone: &[&PathBuf],
    ) -> Result<String, String> {
        let git = || self.git(repository);
        let ids = tree::keep(git(), &self.tree, &self.scratch, files.clone()).await?;
        let mut index = Vec::new();
        // As long as any name git has here.
        let zero = "0".repeat(like.len());
        let kept = files.zip(&ids).map(|((name, seen), id)| (seen.kind.mode(), id, name));
        let gone = gone.iter().map(|name| ("0", &zero, *name));
        // What goes makes room for what comes.
        for (mode, id, name) in gone.chain(kept) {
            index.extend(format!("{mode} {id}\t").bytes());
            index.extend(name.as_os_str().as_bytes());
            index.push(0);
        }
        git().args(["update-index", "-z", "--index-info"]).ask(&index).await?;
        git().args(["write-tree"]).name(b"").await
    }
}

/// A worktree in which an agent works.
struct Worktree {
    repository: Repository,
    place: Place,
    stand_in: StandIn,
    /// The tree it began with.
    base: String,
    found: Found,
    /// When it was filled.
    over: SystemTime,
    files: Arc<Files>,
}

impl Bench for Worktree {
    fn stand_in(&self) -> &StandIn {
        &self.stand_in
    }

    fn close<'a>(
        self: Box<Self>,
        keep: Option<String>,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Option<Handover>> {
        Box::pin(async move {
            let handover = self.finish(keep, host).await;
            if handover.as_ref().is_none_or(|handover| handover.handed == Handed::Applied) {
                remove(self.place.tree.clone()).await;
                let git = Git::at(&self.repository.top).forget(&self.place.tree);
                // What is left is in nobody's way.
                let _ = git.ask(b"").await;
            }
            remove(self.place.scratch).await;
            handover
        })
    }
}

/// Takes a directory away, as far as that can be done.
async fn remove(directory: PathBuf) {
    let _ = blocking::run(move || {
        let _ = fs::remove_dir_all(directory);
        Ok(())
    })
    .await;
}

impl Worktree {
    /// Makes the changes, if there are any and nothing is against it, and tells what became of
    /// them.
    async fn finish(&self, keep: Option<String>, host: &dyn Host) -> Option<Handover> {
        let differences = match self.differences().await {
            Ok(differences) if differences.is_empty() => return None,
            Ok(differences) => differences,
            Err(why) => return Some(self.handover(&[], self.kept(why))),
        };
        let handed = match keep.or_else(|| self.obstacle(&differences, host)) {
            Some(why) => self.kept(why),
            None => self.hand_over(&differences, host).await,
        };
        let mut handover = self.handover(&differences, handed);
        if handover.handed == Handed::Applied {
            handover.left_out.extend(self.ignored().await);
        }
        Some(handover)
    }

    /// Finds what the agent changed, and writes it down.
    async fn differences(&self) -> Result<Vec<Difference>, String> {
        let Self { repository, place, base, .. } = self;
        let git = || place.git(repository);
        let (names, top) = (tree::names(git()).await?, place.tree.clone());
        let now = blocking::run(move || tree::look_at(names, &top).map_err(ToolError));
        let now = now.await.map_err(|ToolError(why)| why)?;
        if let Some(left_out) = now.left_out.first() {
            return Err(format!(
                "`{left_out}` is a repository of its own, which no patch can hold"
            ));
        }
        let former = &self.found.seen;
        let changed = now.seen.iter().filter(|(name, seen)| {
            !former.get(*name).is_some_and(|former| seen.is_surely(former, self.over))
        });
        let gone: Vec<_> = former.keys().filter(|name| !now.seen.contains_key(*name)).collect();
        let after = place.keep(repository, base, changed, &gone).await?;
        let differences = differences(git, base, &after).await?;
        if !differences.is_empty() {
            let patch = git().args(["diff-tree", "-r", "-p", "--binary", "--full-index"]);
            let patch =
                patch.args(["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"]);
            let patch = patch.args(["--src-prefix=a/", "--dst-prefix=b/", base, &after]);
            let patch = patch.ask(b"").await?;
            let written = fs::write(&place.patch, patch);
            written.map_err(|error| format!("`{}`: {error}", place.patch.display()))?;
        }
        Ok(differences)
    }

    /// Tells why changes are not to be made without a person.
    fn obstacle(&self, differences: &[Difference], host: &dyn Host) -> Option<String> {
        let grant = host.grant();
        let is_foreign = |it: &&Difference| !grant.owns(&self.place.tree.join(&it.name));
        let foreign = differences.iter().find(is_foreign)?;
        let why = format!("`{}` is not the agent's to change", foreign.name.display());
        (grant.mode() != Mode::Dangerous).then_some(why)
    }

    async fn hand_over(&self, differences: &[Difference], host: &dyn Host) -> Handed {
        let Place { tree, scratch, .. } = &self.place;
        let route = Route { from: tree, to: &self.repository.top, scratch };
        match apply(differences, &route, &self.files, host).await {
            Ok(conflicts) if conflicts.is_empty() => Handed::Applied,
            Ok(conflicts) => {
                let files = conflicts.iter().map(|file| file.display().to_string()).collect();
                Handed::Conflict { files, worktree: tree.display().to_string() }
            }
            Err(why) => self.kept(why),
        }
    }

    fn kept(&self, why: String) -> Handed {
        Handed::Kept { why, worktree: self.place.tree.display().to_string() }
    }

    fn handover(&self, differences: &[Difference], handed: Handed) -> Handover {
        Handover {
            patch: self.place.patch.exists().then(|| self.place.patch.display().to_string()),
            directory: self.repository.top.display().to_string(),
            files: differences.iter().map(|it| it.name.display().to_string()).collect(),
            handed,
            left_out: self.found.left_out.clone(),
        }
    }

    /// Says what goes with the worktree, since git is told to ignore it.
    async fn ignored(&self) -> Option<String> {
        let git = self.place.git(&self.repository);
        let ask = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let answer = git.args(ask).ask(b"").await.ok()?;
        let names =
            git::entries(&answer).map(|name| format!("`{}`", String::from_utf8_lossy(name)));
        let mut names: Vec<_> = names.take(MOST_IGNORED + 1).collect();
        if names.len() > MOST_IGNORED {
            names[MOST_IGNORED] = "others".to_owned();
        }
        (!names.is_empty())
            .then(|| format!("not handed over, since git ignores it: {}", names.join(", ")))
    }
}
