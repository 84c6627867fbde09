//! All files of a scope, as they were when somebody looked.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    directories: BTreeSet<PathBuf>,
    /// Where commands are at work.
    scopes: Vec<Weak<Scope>>,
}

/// A file that is another than it was.
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
}

/// What is there.
#[derive(Default)]
struct Look {
    files: BTreeMap<PathBuf, Entry>,
    directories: BTreeSet<PathBuf>,
}

/// What a look has shown.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) differences: Vec<Difference>,
    /// Directories that were made for new files.
    pub(super) made: BTreeSet<PathBuf>,
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
        let (known, directories) = (BTreeMap::new(), BTreeSet::new());
        Self { directory, pack: None, known, directories, scopes: Vec::new() }
    }

    /// Returns the contents of the files.
    pub(super) fn pack(&mut self) -> Result<&mut Pack, String> {
        Ok(self.open()?.1)
    }

    fn open(&mut self) -> Result<(&BTreeMap<PathBuf, Entry>, &mut Pack), String> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            none => {
                let made = Pack::new(&self.directory);
                none.insert(made.map_err(|why| format!("`{}`: {why}", self.directory.display()))?)
            }
        };
        Ok((&self.known, pack))
    }

    /// Takes a scope as it is from now on, except where others are at work: what is new there
    /// is theirs.
    pub(super) fn begin(&mut self, scope: &Arc<Scope>) -> Result<(), String> {
        self.scopes.retain(|other| other.strong_count() > 0);
        let Look { mut files, mut directories } = self.look(scope)?;
        let others = self.scopes.clone();
        files.retain(|path, _| is_free(&others, path));
        directories.retain(|path| is_free(&others, path));
        let is_ours = |path: &Path| scope.has(path) && is_free(&others, path);
        self.known.retain(|path, _| !is_ours(path));
        self.directories.retain(|path| !is_ours(path));
        self.known.append(&mut files);
        self.directories.append(&mut directories);
        self.scopes.push(Arc::downgrade(scope));
        Ok(())
    }

    /// Reports whether no command is at work on a file.
    pub(super) fn is_free(&self, path: &Path) -> bool {
        is_free(&self.scopes, path)
    }

    /// Returns what is another than it was, and takes it as it is from now on.
    pub(super) fn end(&mut self, scope: &Scope) -> Result<Seen, String> {
        let Look { files: mut now, mut directories } = self.look(scope)?;
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
                let above = path.ancestors().skip(1);
                let is_new = |it: &&Path| scope.has(it) && !self.directories.contains(*it);
                seen.made.extend(above.take_while(is_new).map(Path::to_owned));
                let (path, after) = (path.clone(), Some(after.clone()));
                seen.differences.push(Difference { path, before: None, after });
            }
            self.known.insert(path, after);
        }
        self.directories.retain(|path| !scope.has(path));
        self.directories.append(&mut directories);
        Ok(seen)
    }

    /// Returns the rules that left files out when somebody last looked.
    fn ignored(&mut self, scope: &Scope) -> Result<Ignored, String> {
        let (known, pack) = self.open()?;
        let mut ignored = Ignored::default();
        let is_rules = |path: &Path| scope.has(path) && Ignored::is_rules(path);
        for (path, entry) in known.iter().filter(|(path, _)| is_rules(path)) {
            if let Ok((_, content)) = entry.former(pack) {
                ignored.add(path, &content);
            }
        }
        Ok(ignored)
    }

    fn look(&mut self, scope: &Scope) -> Result<Look, String> {
        let until = Instant::now() + PATIENCE;
        let (known, pack) = self.open()?;
        let Look { mut files, mut directories } = Look::default();
        let mut add = |path: &Path| {
            if Instant::now() > until {
                return Err(format!("there are so many files that {PATIENCE:?} are not enough"));
            }
            let entry =
                Entry::look(path, known.get(path), pack).map_err(|error| error.to_string())?;
            files.extend(entry.map(|entry| (path.to_owned(), entry)));
            Ok(())
        };
        for place in &scope.places {
            for found in walk(place, scope).build().flatten() {
                if found.file_type().is_some_and(|kind| kind.is_dir()) {
                    directories.insert(found.into_path());
                } else {
                    add(found.path())?;
                }
            }
        }
        // What is left out by a new `.gitignore` has not gone.
        for path in known.keys().filter(|path| scope.has(path)) {
            add(path)?;
        }
        Ok(Look { files, directories })
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
