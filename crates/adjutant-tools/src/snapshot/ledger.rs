//! All files of a scope, as they were when somebody looked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Bound::{Excluded, Unbounded},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};

use adjutant_core::{Digest, FileState};
use ignore::WalkBuilder;

use super::{
    entry::{Entry, MARGIN},
    ignored::Ignored,
    pack::Pack,
};

/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a command may write, and since when.
pub(super) struct Scope {
    pub(super) places: Vec<PathBuf>,
    /// Places in it that are not looked at.
    pub(super) skipped: Vec<PathBuf>,
    pub(super) since: SystemTime,
}

/// All files of all scopes that were looked at.
pub(super) struct Ledger {
    directory: PathBuf,
    pack: Option<Pack>,
    known: BTreeMap<PathBuf, Entry>,
    /// Where commands are at work.
    scopes: Vec<Weak<Scope>>,
}

/// A file that is another than it was.
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

/// What a look has shown.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) differences: Vec<Difference>,
    /// Directories that were made.
    pub(super) made: Vec<PathBuf>,
}

impl Scope {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    fn skips(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == ".git")
            || self.skipped.iter().any(|place| path.starts_with(place))
    }
}

impl Ledger {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, pack: None, known: BTreeMap::new(), scopes: Vec::new() }
    }

    /// Returns the contents of the files.
    pub(super) fn pack(&mut self) -> Result<&mut Pack, String> {
        if self.pack.is_none() {
            let failure = |error| format!("`{}`: {error}", self.directory.display());
            self.pack = Some(Pack::new(&self.directory).map_err(failure)?);
        }
        self.pack.as_mut().ok_or_else(String::new)
    }

    /// Takes a scope as it is from now on, except where others are at work: what is new there
    /// is theirs.
    pub(super) fn begin(&mut self, scope: &Arc<Scope>) -> Result<(), String> {
        self.scopes.retain(|other| other.strong_count() > 0);
        let mut now = self.look(scope)?;
        now.retain(|path, _| self.is_free(path));
        let others = self.scopes.clone();
        self.known.retain(|path, _| !scope.has(path) || !is_free(&others, path));
        self.known.append(&mut now);
        self.scopes.push(Arc::downgrade(scope));
        Ok(())
    }

    /// Reports whether no command is at work on a file.
    pub(super) fn is_free(&self, path: &Path) -> bool {
        is_free(&self.scopes, path)
    }

    /// Returns what is another than it was, and takes it as it is from now on.
    pub(super) fn end(&mut self, scope: &Scope) -> Result<Seen, String> {
        let mut now = self.look(scope)?;
        let since = self.scopes.iter().filter_map(Weak::upgrade).map(|it| it.since).min();
        let since = since.unwrap_or(scope.since) - MARGIN;
        let (mut seen, ignored) = (Seen::default(), self.ignored(scope)?);
        let paths: BTreeSet<_> =
            self.known.keys().filter(|path| scope.has(path)).cloned().collect();
        for path in paths {
            let (before, after) = (self.known.remove(&path), now.remove(&path));
            let is_same =
                matches!((&before, &after), (Some(before), Some(after)) if before.is_as(after));
            self.known.extend(after.clone().map(|after| (path.clone(), after)));
            if !is_same {
                seen.differences.push(Difference { path, before, after });
            }
        }
        for (path, after) in now {
            // What was left out until now, or is older, was there before.
            if after.changed >= since && !ignored.has(&path) {
                seen.made.extend(self.made_for(&path, scope, since));
                let (path, after) = (path.clone(), Some(after.clone()));
                seen.differences.push(Difference { path, before: None, after });
            }
            self.known.insert(path, after);
        }
        Ok(seen)
    }

    /// Returns the rules that left files out when somebody last looked.
    fn ignored(&mut self, scope: &Scope) -> Result<Ignored, String> {
        self.pack()?;
        let Self { known, pack: Some(pack), .. } = self else { return Err(String::new()) };
        let mut ignored = Ignored::default();
        let is_rules = |path: &Path| scope.has(path) && Ignored::is_rules(path);
        for (path, entry) in known.iter().filter(|(path, _)| is_rules(path)) {
            if let Ok((_, content)) = entry.former(pack) {
                ignored.add(path, &content);
            }
        }
        Ok(ignored)
    }

    /// Returns the directories that were made for a new file.
    fn made_for(&self, path: &Path, scope: &Scope, since: SystemTime) -> Vec<PathBuf> {
        let is_empty = |directory: &Path| {
            let mut below = self.known.range::<Path, _>((Excluded(directory), Unbounded));
            !below.next().is_some_and(|(path, _)| path.starts_with(directory))
        };
        let is_young = |directory: &Path| {
            let born = fs::symlink_metadata(directory).and_then(|metadata| metadata.created());
            born.is_ok_and(|born| born >= since)
        };
        let above =
            path.ancestors().skip(1).take_while(|it| !scope.places.iter().any(|place| place == it));
        above
            .take_while(|it| scope.has(it) && is_empty(it) && is_young(it))
            .map(Path::to_owned)
            .collect()
    }

    fn look(&mut self, scope: &Scope) -> Result<BTreeMap<PathBuf, Entry>, String> {
        let until = Instant::now() + PATIENCE;
        self.pack()?;
        let Self { known, pack: Some(pack), .. } = self else { return Err(String::new()) };
        let mut now = BTreeMap::new();
        let mut add = |path: &Path| {
            if Instant::now() > until {
                return Err(format!("there are so many files that {PATIENCE:?} are not enough"));
            }
            let entry =
                Entry::look(path, known.get(path), pack).map_err(|error| error.to_string())?;
            now.extend(entry.map(|entry| (path.to_owned(), entry)));
            Ok(())
        };
        for place in &scope.places {
            for found in walk(place, scope).build().flatten() {
                if !found.file_type().is_some_and(|kind| kind.is_dir()) {
                    add(found.path())?;
                }
            }
        }
        // What is left out by a new `.gitignore` has not gone.
        for path in known.keys().filter(|path| scope.has(path)) {
            add(path)?;
        }
        Ok(now)
    }
}

fn is_free(scopes: &[Weak<Scope>], path: &Path) -> bool {
    !scopes.iter().filter_map(Weak::upgrade).any(|scope| scope.has(path))
}

fn walk(place: &Path, scope: &Scope) -> WalkBuilder {
    let skipped = Scope { places: Vec::new(), skipped: scope.skipped.clone(), since: scope.since };
    let mut walk = WalkBuilder::new(place);
    walk.hidden(false)
        .require_git(false)
        .git_global(false)
        .same_file_system(true)
        .filter_entry(move |entry| entry.depth() == 0 || !skipped.skips(entry.path()));
    walk
}

/// Returns the state of a directory.
pub(super) fn directory() -> FileState {
    FileState { digest: Digest::of(&[]), bytes: 0, mode: 0o040_755 }
}
