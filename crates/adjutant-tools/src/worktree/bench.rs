//! A worktree in which an agent works, and what becomes of what it did there.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

use adjutant_core::{Bench, Handed, Handover, Host, Mode, StandIn};
use futures_util::future::BoxFuture;

use super::{
    apply::{Route, apply},
    aside,
    difference::{Difference, contents, differing},
    place::Place,
    told,
    tree::{self, Found},
};
use crate::{
    files::Files,
    git::{Repository, entries},
};

/// The most ignored files that are named.
const MOST_IGNORED: usize = 5;
/// The most files that are listed; the patch has them all.
pub(super) const MOST_LISTED: usize = 1000;

/// A worktree in which an agent works.
pub(super) struct Worktree {
    pub(super) repository: Repository,
    pub(super) place: Place,
    pub(super) stand_in: StandIn,
    /// The tree it began with.
    pub(super) base: String,
    pub(super) found: Found,
    /// When it was filled.
    pub(super) over: SystemTime,
    pub(super) files: Arc<Files>,
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
                self.place.clear(&self.repository).await;
            } else {
                let scratch = self.place.scratch;
                // What is left is in nobody's way.
                let removed =
                    aside(move || fs::remove_dir_all(&scratch).map_err(|it| told(&scratch, &it)));
                let _ = removed.await;
            }
            handover
        })
    }

    fn discard(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.place.clear(&self.repository).await })
    }
}

impl Worktree {
    /// Makes the changes, if there are any and nothing is against it, and tells what became of
    /// them.
    async fn finish(&self, keep: Option<String>, host: &dyn Host) -> Option<Handover> {
        let differences = match self.differences().await {
            Ok(differences) => differences,
            Err(why) => return Some(self.handover(&[], self.kept(why)).await),
        };
        let ignored = self.ignored().await;
        if differences.is_empty() {
            let why = format!("git ignores all it made: {}", ignored?);
            return Some(self.handover(&[], self.kept(why)).await);
        }
        let handed = match keep.or_else(|| self.obstacle(&differences, host)) {
            Some(why) => self.kept(why),
            None => self.hand_over(&differences, host).await,
        };
        let mut handover = self.handover(&differences, handed).await;
        if let (Handed::Applied, Some(ignored)) = (&handover.handed, ignored) {
            let dropped = format!("not handed over, since git ignores it: {ignored}");
            handover.left_out.push(dropped);
        }
        Some(handover)
    }

    /// Finds what the agent changed, and writes it down.
    async fn differences(&self) -> Result<Vec<Difference>, String> {
        let Self { repository, place, base, .. } = self;
        let git = || place.git(repository);
        let (names, top) = (tree::names(git()).await?, place.tree.clone());
        let now = aside(move || tree::look_at(names, &top)).await?;
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
        let differing = differing(git(), base, &after).await?;
        if differing.is_empty() {
            return Ok(Vec::new());
        }
        // First of all, so that it is there whatever becomes of the rest.
        let path = place.patch.clone();
        let file = aside(move || File::create(&path).map_err(|error| told(&path, &error))).await?;
        let patch = git().args(["diff-tree", "-r", "-p", "--binary", "--full-index"]);
        let patch = patch.args(["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"]);
        let patch = patch.args(["--src-prefix=a/", "--dst-prefix=b/", base, &after]);
        patch.ask_into(file).await?;
        contents(git(), differing).await
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
                let files = names(conflicts.iter().map(AsRef::as_ref));
                Handed::Conflict { files, worktree: tree.display().to_string() }
            }
            Err(why) => self.kept(why),
        }
    }

    fn kept(&self, why: String) -> Handed {
        Handed::Kept { why, worktree: self.place.tree.display().to_string() }
    }

    async fn handover(&self, differences: &[Difference], handed: Handed) -> Handover {
        let patch = self.place.patch.clone();
        let patch = aside(move || Ok(patch.exists().then(|| patch.display().to_string()))).await;
        let mut left_out = self.found.left_out.clone();
        if let Some(more) = differences.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
            left_out.push(format!("{more} more files are not listed; the patch has them all"));
        }
        Handover {
            patch: patch.ok().flatten(),
            directory: self.repository.top.display().to_string(),
            files: names(differences.iter().map(|it| it.name.as_path())),
            handed,
            left_out,
        }
    }

    /// Names what the agent made and git is told to ignore.
    async fn ignored(&self) -> Option<String> {
        let git = self.place.git(&self.repository);
        let git = git.args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
        let git = git.args(["--directory", "--no-empty-directory"]);
        let answer = git.ask(b"").await.ok()?;
        let names = entries(&answer).map(|name| format!("`{}`", String::from_utf8_lossy(name)));
        let mut names: Vec<_> = names.take(MOST_IGNORED + 1).collect();
        if names.len() > MOST_IGNORED {
            names[MOST_IGNORED] = "others".to_owned();
        }
        (!names.is_empty()).then(|| names.join(", "))
    }
}

fn names<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    files.take(MOST_LISTED).map(|file| file.display().to_string()).collect()
}
