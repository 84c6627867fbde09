//! What in some directories gives orders to git or to the runtime.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsStr,
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

use super::{git_config, policy::is_in};

/// What the runtime reads from a project.
const OWN: [&str; 2] = [".adjutant", ".mcp.json"];
/// What in a repository can make git run a program, or look for such things elsewhere.
const ORDERS: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];
/// The same for what a command may make, but not change.
const STANDING: [&str; 2] = ["info", "worktrees"];
/// How many directories are looked through. That takes about a second, and more would make
/// every command wait.
pub(super) const MOST: usize = 200_000;

/// What in some directories gives orders to git or to the runtime.
#[derive(Clone, Debug, Default)]
pub struct Steering {
    /// The directories of repositories, whatever they are called.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Those of their further work trees.
    pub(super) trees: BTreeSet<PathBuf>,
    /// What stands for a repository that is elsewhere, and what the runtime reads.
    pub(super) files: BTreeSet<PathBuf>,
    /// How far the search came.
    pub(super) extent: Extent,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Extent {
    /// To the end.
    #[default]
    Whole,
    /// Not further than so many directories.
    Partial,
}

/// Reports whether a path lies among what gives git orders in a repository, whatever that is
/// called. People keep work trees in the directory of a repository, too.
pub(super) fn is_among_orders(path: &Path) -> bool {
    let is_repository = |it: &Path| it.join("HEAD").is_file() && it.join("objects").is_dir();
    path.ancestors().any(|part| {
        let is = |name: &&str| part.file_name().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let is_order = ORDERS.iter().chain(&STANDING).any(is);
        is_order && part.parent().is_some_and(is_repository)
    })
}

impl Steering {
    /// Looks through directories and all that is below them, the nearest first.
    pub(super) fn find(places: &[PathBuf], most: usize) -> Self {
        let mut steering = Self::default();
        let mut waiting: VecDeque<_> = places.iter().cloned().collect();
        for _ in 0..most {
            let Some(directory) = waiting.pop_front() else { return steering };
            steering.look(&directory, &mut waiting);
        }
        if !waiting.is_empty() {
            steering.extent = Extent::Partial;
        }
        steering
    }

    fn look(&mut self, directory: &Path, waiting: &mut VecDeque<PathBuf>) {
        let mut signs = Signs::default();
        for entry in entries(directory) {
            let name = entry.file_name();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            signs.see(&name);
            // Some systems do not tell upper from lower case.
            let is = |own: &&str| name.eq_ignore_ascii_case(own);
            if is(&".git") && is_directory {
                self.repository(entry.path());
            } else if is(&".git") || OWN.iter().any(is) {
                self.files.insert(entry.path());
            } else if is_directory {
                waiting.push_back(entry.path());
            }
        }
        if signs.are_of_repository() {
            self.repository(directory.to_owned());
        }
    }

    fn repository(&mut self, directory: PathBuf) {
        self.trees.extend(directories(&directory.join("worktrees")));
        let mut waiting = directories(&directory.join("modules"));
        self.repositories.insert(directory);
        // A submodule's name may have slashes in it.
        while let Some(directory) = waiting.pop() {
            let mut signs = Signs::default();
            entries(&directory).for_each(|entry| signs.see(&entry.file_name()));
            if signs.are_of_repository() {
                self.repository(directory);
            } else {
                waiting.extend(directories(&directory));
            }
        }
    }

    /// Returns what must not be changed in the places that were looked through and, of what is
    /// not there, what must not be made.
    pub(super) fn protected(&self, places: &[PathBuf]) -> Vec<PathBuf> {
        let tops = places.iter().filter(|place| place.is_dir());
        let mut found: Vec<_> = tops.flat_map(|place| OWN.map(|name| place.join(name))).collect();
        found.extend(self.files.iter().cloned());
        for repository in &self.repositories {
            found.extend(ORDERS.map(|name| repository.join(name)));
            let standing = STANDING.map(|name| repository.join(name));
            found.extend(standing.into_iter().filter(|path| path.exists()));
            let leads = git_config::leads(repository);
            // All files cannot be protected.
            let is_inside = |path: &PathBuf| is_in(path, places) && !places.contains(path);
            found.extend(leads.into_iter().filter(is_inside));
        }
        found.sort();
        found.dedup();
        found
    }
}

/// What git knows a repository by.
#[derive(Default)]
struct Signs {
    head: bool,
    content: bool,
}

impl Signs {
    fn see(&mut self, name: &OsStr) {
        self.head |= name == "HEAD";
        self.content |= name == "objects" || name == "commondir";
    }

    fn are_of_repository(&self) -> bool {
        self.head && self.content
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let is_directory = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries(directory).filter(is_directory).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(files: &[&str]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for file in files {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        place
    }

    fn protected(place: &tempfile::TempDir) -> Vec<String> {
        let places = [place.path().to_owned()];
        let inside = |path: &PathBuf| path.strip_prefix(place).unwrap().display().to_string();
        Steering::find(&places, MOST).protected(&places).iter().map(inside).collect()
    }

    #[test]
    fn a_directory_without_a_repository_has_only_what_must_not_be_made() {
        assert_eq!(protected(&place(&["src/main.rs"])), [".adjutant", ".mcp.json"]);
    }

    #[test]
    fn repositories_are_found_wherever_they_are() {
        let files = [
            ".git/HEAD",
            ".git/info/exclude",
            ".git/modules/a/b/HEAD",
            ".git/modules/a/b/objects/x",
            "deep/down/.git",
            "deep/.mcp.json",
            "bare/HEAD",
            "bare/objects/x",
            "bare/inside/.git/HEAD",
        ];
        let orders = |place: &str| ORDERS.map(|name| format!("{place}/{name}"));
        let mut expected = [".adjutant", ".mcp.json", "deep/.mcp.json", "deep/down/.git"]
            .map(str::to_owned)
            .to_vec();
        let repositories = [".git", ".git/modules/a/b", "bare", "bare/inside/.git"];
        expected.extend(repositories.map(orders).concat());
        expected.push(".git/info".to_owned());
        expected.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
        assert_eq!(protected(&place(&files)), expected);
    }

    #[test]
    fn what_settings_lead_to_is_protected_unless_it_is_everything() {
        let place = place(&[".git/HEAD"]);
        let config = "[core]\nhooksPath = .husky\n[include]\npath = ../own\n[core]\nhooksPath = .";
        fs::write(place.path().join(".git/config"), config).unwrap();
        let found = protected(&place);
        assert!(found.contains(&".husky".to_owned()) && found.contains(&"own".to_owned()));
        assert!(!found.contains(&String::new()), "{found:?}");
    }

    #[test]
    fn a_search_that_was_cut_off_says_so() {
        let place = place(&["a/x", "b/c/x"]);
        let extent = |most| Steering::find(&[place.path().to_owned()], most).extent;
        assert_eq!((extent(3), extent(4)), (Extent::Partial, Extent::Whole));
    }

    #[test]
    fn a_file_steers_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let places = [file.path().to_owned()];
        assert!(Steering::find(&places, MOST).protected(&places).is_empty());
    }
}
