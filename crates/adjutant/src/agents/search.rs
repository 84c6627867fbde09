//! Which files there are in a directory of agents.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    format::Format,
    places::{Kind, Place},
    problem::{Problem, Severity},
};

/// The most files that are read in one place.
const MOST: usize = 1000;

/// How deep directories are looked into.
const DEEPEST: usize = 8;

/// What was found in a place.
pub(super) struct Found {
    /// The files that may be agents', by their paths.
    pub(super) files: Vec<(PathBuf, Format)>,
    /// What could not be looked at, or was left out.
    pub(super) problems: Vec<Problem>,
}

/// Looks through a place. One that is not there has nothing in it.
pub(super) fn search(place: &Place) -> Found {
    let found = Found { files: Vec::new(), problems: Vec::new() };
    let mut search = Search { kind: place.kind, seen: BTreeSet::new(), found };
    search.look_into(&place.directory, 0);
    let Found { mut files, mut problems } = search.found;
    files.sort();
    if let Some((first, _)) = files.get(MOST) {
        let (count, first) = (files.len() - MOST, first.display());
        let why = format!("has more than {MOST} files: {count} are left out, from {first} on");
        problems.push(Problem::of(Severity::Error, &place.directory, why));
        files.truncate(MOST);
    }
    Found { files, problems }
}

struct Search {
    kind: Kind,
    /// The directories that were looked into, with every link resolved: links may lead in circles.
    seen: BTreeSet<PathBuf>,
    found: Found,
}

impl Search {
    fn look_into(&mut self, directory: &Path, depth: usize) {
        let entries = match self.entries(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return,
            Err(error) => return self.say(directory, format!("cannot be looked into: {error}")),
        };
        for path in entries {
            if !path.is_dir() {
                self.found.files.extend(self.kind.format(&path).map(|format| (path, format)));
            } else if self.kind.is_deep() && depth < DEEPEST {
                self.look_into(&path, depth + 1);
            } else if self.kind.is_deep() {
                self.say(&path, format!("is not looked into: it is more than {DEEPEST} deep"));
            }
        }
    }

    /// Returns what is in a directory, if nobody looked there yet.
    fn entries(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let is_new = self.seen.insert(fs::canonicalize(directory)?);
        let entries = if is_new { Some(fs::read_dir(directory)?) } else { None };
        entries.into_iter().flatten().map(|entry| Ok(entry?.path())).collect()
    }

    fn say(&mut self, path: &Path, why: String) {
        self.found.problems.push(Problem::of(Severity::Error, path, why));
    }
}
