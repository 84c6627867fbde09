//! The place of a worktree, and how it is filled.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    path::{Path, PathBuf},
};

use adjutant_core::AgentPath;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{
    aside,
    tree::{self, Found, Seen},
};
use crate::git::{Git, Repository};

/// Where a worktree and what goes with it is.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) tree: PathBuf,
    pub(super) patch: PathBuf,
    /// For an index and other files that pass.
    pub(super) scratch: PathBuf,
}

impl Place {
    /// Makes room for an agent's worktree and what goes with it, outside of what it stands for.
    pub(super) fn open(directory: &Path, agent: &AgentPath, top: &Path) -> Result<Self, String> {
        let real = directory.ancestors().find_map(|above| above.canonicalize().ok());
        if real.is_some_and(|real| real.starts_with(top)) {
            let (ours, theirs) = (directory.display(), top.display());
            return Err(format!("`{ours}`, where it would be, is inside `{theirs}`"));
        }
        let made = Self::make(directory, agent);
        made.map_err(|error| format!("`{}` cannot be used: {error}", directory.display()))
    }

    fn make(directory: &Path, agent: &AgentPath) -> io::Result<Self> {
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        let [trees, patches, scratch] =
            ["worktrees", "patches", "scratch"].map(|name| directory.join(name));
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
        Ok(Self { tree: trees.join(name).canonicalize()?, patch, scratch })
    }

    /// Asks git with an index of our own about the files of the worktree, whatever repository an
    /// agent made of it.
    pub(super) fn git(&self, repository: &Repository) -> Git {
        let git = Git::of(&repository.common, &self.tree);
        git.index(&self.scratch.join("index")).as_adjutant()
    }

    /// Makes the worktree what the original is, and returns what that is.
    pub(super) async fn fill(&self, repository: &Repository) -> Result<(Found, String), String> {
        let head = repository.head().await;
        let top = || repository.git().as_adjutant();
        let first = match &head {
            Some(head) => head.clone(),
            None => {
                let empty = top().args(["hash-object", "-t", "tree", "-w", "--stdin"]);
                let empty = empty.name(b"").await?;
                top().args(["commit-tree", &empty]).name(b"nothing").await?
            }
        };
        // By force, in case one was there that somebody took away without a word to git.
        let add =
            top().args(["worktree", "add", "--force", "--quiet", "--detach", "--no-checkout"]);
        add.args([self.tree.as_os_str(), first.as_ref()]).ask(b"").await?;
        let names = tree::names(top()).await?;
        let (from, to) = (repository.top.clone(), self.tree.clone());
        let token = CancellationToken::new();
        // If nobody waits for this any more, it stops.
        let stop = token.clone().drop_guard();
        let found = aside(move || {
            let copied = tree::copy(names, &from, &to, &token);
            if token.is_cancelled() {
                let _ = fs::remove_dir_all(to);
            }
            copied
        });
        let found = found.await?;
        drop(stop);
        let base = self.keep(repository, &first, found.seen.iter(), &[]).await?;
        let mut commit = top().args(["commit-tree", &base]);
        if let Some(head) = &head {
            commit = commit.args(["-p", head]);
        }
        let commit = commit.name(b"What an agent began with\n").await?;
        // Nobody has worked here yet, so what git finds is what it made.
        let here = || Git::at(&self.tree).as_adjutant();
        here().args(["update-ref", "--no-deref", "HEAD", &commit]).ask(b"").await?;
        here().args(["read-tree", &commit]).ask(b"").await?;
        Ok((found, base))
    }

    /// Keeps files in the repository, and returns the tree that is made of our index by that.
    pub(super) async fn keep<'a>(
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

    /// Takes the worktree away, as far as that can be done. What is left is in nobody's way.
    pub(super) async fn clear(self, repository: &Repository) {
        let Self { tree, scratch, .. } = self;
        let gone = tree.clone();
        let _ = aside(move || {
            let _ = (fs::remove_dir_all(gone), fs::remove_dir_all(scratch));
            Ok(())
        })
        .await;
        let forget = repository.git().args(["worktree", "remove", "--force", "--force"]);
        let _ = forget.args([tree]).ask(b"").await;
    }
}

/// A place that is not a worktree yet, and in which nobody has worked. Dropped, it goes away.
pub(super) struct Unfinished(Option<(Place, Repository)>);

impl Unfinished {
    pub(super) fn new(place: &Place, repository: &Repository) -> Self {
        Self(Some((place.clone(), repository.clone())))
    }

    pub(super) fn finish(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Nobody can wait here.
        if let (Some((place, repository)), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { place.clear(&repository).await });
        }
    }
}
