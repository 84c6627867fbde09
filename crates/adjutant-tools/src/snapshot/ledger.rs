//! All files of a scope, as they were when somebody looked.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};

use ignore::WalkBuilder;

use super::{
    entry::{Entry, MARGIN},
    ignored::Ignored,
    pack::Pack,
};
use crate::directory::is_passing_name;

/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a command may write, and since when.
pub(super) struct Scope {
    pub(super) places: Vec<PathBuf>,
    /// Places in it that are not looked at.
    pub(super) skipped: Vec<PathBuf>,
    pub(super) since: SystemTime,
}

/// All files and directories of all scopes that were looked at.
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

impl Difference {
    /// Reports whether no file came or went.
    pub(super) fn is_of_directories(&self) -> bool {
        self.before.iter().chain(&self.after).all(Entry::is_directory)
    }

    /// Returns why it cannot be undone.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.before.iter().chain(&self.after).find_map(Entry::trouble)
    }
}

impl Scope {
    /// Reports whether two have something in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.places.iter().any(|place| other.has(place))
            || other.places.iter().any(|place| self.has(place))
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    fn skips(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| name == ".git" || is_passing_name(name))
            || self.skipped.iter().any(|place| path.starts_with(place))
    }
}

impl Ledger {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, pack: None, known: BTreeMap::new(), scopes: Vec::new() }
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
        let mut now = self.look(scope)?;
        let others = self.scopes.clone();
        now.retain(|path, _| is_free(&others, path));
        self.known.retain(|path, _| !scope.has(path) || !is_free(&others, path));
        self.known.append(&mut now);
        self.scopes.push(Arc::downgrade(scope));
        Ok(())
    }

    /// Reports whether no command is at work on a file.
    pub(super) fn is_free(&self, path: &Path) -> bool {
        is_free(&self.scopes, path)
    }

    /// Returns what is another than it was, what holds others first, and takes it as it is from
    /// now on.
    pub(super) fn end(&mut self, scope: &Scope) -> Result<Vec<Difference>, String> {
        let mut now = self.look(scope)?;
        let since = self.scopes.iter().filter_map(Weak::upgrade).map(|it| it.since).min();
        let since = since.unwrap_or(scope.since) - MARGIN;
        let (ignored, mut differences) = (self.ignored(scope)?, Vec::new());
        // What came with a directory may be older than the command.
        let mut came = BTreeSet::new();
        let paths: BTreeSet<_> =
            self.known.keys().filter(|path| scope.has(path)).cloned().collect();
        for path in paths {
            let (before, after) = (self.known.remove(&path), now.remove(&path));
            self.known.extend(after.clone().map(|after| (path.clone(), after)));
            if let (Some(before), Some(after)) = (&before, &after) {
                if after.is_other_directory(before) {
                    came.insert(path.clone());
                }
                if before.is_as(after) {
                    continue;
                }
            }
            differences.push(Difference { path, before, after });
        }
        for (path, after) in now {
            let has_come = path.parent().is_some_and(|above| came.contains(above));
            // What was left out until now, or is older, was there before.
            if (has_come || after.changed >= since) && !ignored.has(&path, after.is_directory()) {
                if after.is_directory() {
                    came.insert(path.clone());
                }
                let (path, after) = (path.clone(), Some(after.clone()));
                differences.push(Difference { path, before: None, after });
            }
            self.known.insert(path, after);
        }
        differences.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(differences)
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

    fn look(&mut self, scope: &Scope) -> Result<BTreeMap<PathBuf, Entry>, String> {
        let until = Instant::now() + PATIENCE;
        let (known, pack) = self.open()?;
        let mut now = BTreeMap::new();
        let mut add = |path: &Path, now: &mut BTreeMap<PathBuf, Entry>| {
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
                add(found.path(), &mut now)?;
            }
        }
        // What is left out by a new `.gitignore` has not gone.
        for path in known.keys().filter(|path| scope.has(path)) {
            if !now.contains_key(path) && !has_lost_its_directory(path, known, &now) {
                add(path, &mut now)?;
            }
        }
        Ok(now)
    }
}

/// Reports whether the directory a file was in is none any more, so that the path would lead
/// elsewhere.
fn has_lost_its_directory(
    path: &Path,
    known: &BTreeMap<PathBuf, Entry>,
    now: &BTreeMap<PathBuf, Entry>,
) -> bool {
    let above = path.parent().filter(|above| known.contains_key(*above));
    above.is_some_and(|above| {
        !now.get(above).is_some_and(|above| above.is_directory() || above.trouble().is_some())
    })
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
