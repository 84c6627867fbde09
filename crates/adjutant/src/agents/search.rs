//! Which files there are in a directory of agents.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    format::Format,
    places::Place,
    problem::{Problem, Severity},
};

/// The most files that are read in one place, and the most directories.
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
    let mut search = Search { place, seen: BTreeSet::new(), found };
    search.look_into(&place.directory, 0);
    if search.seen.len() > MOST {
        let why = format!("has more than {MOST} directories: the others are not looked into");
        search.say(&place.directory, why);
    }
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

struct Search<'a> {
    place: &'a Place,
    /// The directories that were looked into, with every link resolved: links may lead in circles.
    seen: BTreeSet<PathBuf>,
    found: Found,
}

impl Search<'_> {
    fn look_into(&mut self, directory: &Path, depth: usize) {
        if !self.place.owner.holds(directory) {
            return self.found.problems.push(Problem::leads_out(directory));
        }
        let entries = match self.entries(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return,
            Err(error) => return self.say(directory, format!("cannot be looked into: {error}")),
        };
        let kind = self.place.kind;
        for path in entries {
            if !path.is_dir() {
                self.found.files.extend(kind.format(&path).map(|format| (path, format)));
            } else if kind.is_deep() && depth < DEEPEST {
                self.look_into(&path, depth + 1);
            } else if kind.is_deep() {
                self.say(&path, format!("is not looked into: it is more than {DEEPEST} deep"));
            }
        }
    }

    /// Returns what is in a directory, if nobody looked there yet and it is not one too many.
    fn entries(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let is_new = self.seen.len() <= MOST && self.seen.insert(fs::canonicalize(directory)?);
        let entries =
            if is_new && self.seen.len() <= MOST { Some(fs::read_dir(directory)?) } else { None };
        entries.into_iter().flatten().map(|entry| Ok(entry?.path())).collect()
    }

    fn say(&mut self, path: &Path, why: String) {
        self.found.problems.push(Problem::of(Severity::Error, path, why));
    }
}
