//! What in a directory gives orders to git or to the runtime.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

/// What the runtime reads from a project.
const OWN: [&str; 2] = [".adjutant", ".mcp.json"];
/// What in a repository can make git run a program, or look for such things elsewhere.
const ORDERS: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];
/// The same for what a command may make, but not change.
const STANDING: [&str; 2] = ["info", "worktrees"];
/// How many directories are looked through, the nearest first. More would make every command
/// wait.
const MOST: usize = 1000;

/// Returns what steers git or the runtime in a directory and below it. Of what is not there,
/// that which must not be made.
pub(super) fn find(top: &Path) -> Vec<PathBuf> {
    if !top.is_dir() {
        return Vec::new();
    }
    let mut found: Vec<_> = OWN.iter().map(|name| top.join(name)).collect();
    let mut waiting = VecDeque::from([top.to_owned()]);
    for _ in 0..MOST {
        let Some(directory) = waiting.pop_front() else { break };
        if is_repository(&directory) {
            repository(&directory, &mut found);
            continue;
        }
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if name == ".git" && is_directory {
                repository(&path, &mut found);
            } else if name == ".git" || OWN.iter().any(|own| name == *own) {
                found.push(path);
            } else if is_directory {
                waiting.push_back(path);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file() && directory.join("objects").is_dir()
}

fn repository(directory: &Path, found: &mut Vec<PathBuf>) {
    found.extend(ORDERS.map(|name| directory.join(name)));
    let standing = STANDING.map(|name| directory.join(name));
    found.extend(standing.into_iter().filter(|path| path.exists()));
    submodules(&directory.join("modules"), found);
}

/// A submodule's name may have slashes in it.
fn submodules(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && is_repository(&entry.path()) => {
                repository(&entry.path(), found);
            }
            Ok(kind) if kind.is_dir() => submodules(&entry.path(), found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        for file in files {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let inside = |path: &PathBuf| path.strip_prefix(&place).unwrap().display().to_string();
        find(place.path()).iter().map(inside).collect()
    }

    #[test]
    fn a_directory_without_a_repository_has_only_what_must_not_be_made() {
        assert_eq!(found(&["src/main.rs"]), [".adjutant", ".mcp.json"]);
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
        ];
        let orders = |place: &str| ORDERS.map(|name| format!("{place}/{name}"));
        let mut expected = [".adjutant", ".mcp.json", "deep/.mcp.json", "deep/down/.git"]
            .map(str::to_owned)
            .to_vec();
        expected.extend([orders(".git"), orders(".git/modules/a/b"), orders("bare")].concat());
        expected.push(".git/info".to_owned());
        expected.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
        assert_eq!(found(&files), expected);
    }

    #[test]
    fn a_huge_tree_is_not_looked_through_to_its_end() {
        let files: Vec<_> = (0..=MOST).map(|number| format!("{number}/.git")).collect();
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        // The directory itself is one of them.
        assert_eq!(found(&files).len(), MOST - 1 + OWN.len());
    }

    #[test]
    fn a_file_steers_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(find(file.path()).is_empty());
    }
}
