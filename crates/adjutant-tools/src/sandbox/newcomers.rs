//! What a command has made that would steer git or the runtime.
//!
//! It may make repositories, as `git init` and `cargo new` do, and work in them. But one that
//! makes git run a program would do so outside the sandbox, when a person looks at it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    git_config::{self, is_harmless},
    guard::exists,
    steering::{MOST, Steering},
};

/// The files of settings in a repository.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Returns what was not there before and must not stay.
pub(super) fn find(before: &Steering, places: &[PathBuf]) -> Vec<PathBuf> {
    let now = Steering::find(places, MOST);
    let is_known = |path: &Path| {
        path.canonicalize()
            .is_ok_and(|real| now.repositories.contains(&real) || now.trees.contains(&real))
    };
    let files = now.files.difference(&before.files);
    let mut found: Vec<_> = files.filter(|file| !is_pointer(file, is_known)).cloned().collect();
    let repositories = now.repositories.difference(&before.repositories);
    for repository in repositories.chain(now.trees.difference(&before.trees)) {
        let settings = SETTINGS.map(|name| repository.join(name)).into_iter();
        found.extend(settings.filter(|file| exists(file) && !is_harmless(file, places)));
        found.extend(hooks(&repository.join("hooks")));
    }
    // A tree may have taken the place of another of its name, which was held.
    let new = now.repositories.difference(&before.repositories);
    let common = new.chain(&now.trees).map(|directory| directory.join("commondir"));
    found.extend(common.filter(|file| exists(file) && !leads_to(file, "", is_known)));
    found
}

/// Reports whether a `.git` that is no directory stands for a repository that is known.
fn is_pointer(file: &Path, is_known: impl Fn(&Path) -> bool) -> bool {
    let is_git = file.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    is_git && if file.is_symlink() { is_known(file) } else { leads_to(file, "gitdir: ", is_known) }
}

fn leads_to(file: &Path, word: &str, is_known: impl Fn(&Path) -> bool) -> bool {
    let text = git_config::text(file).unwrap_or_default();
    let target = text.strip_prefix(word).zip(file.parent());
    target.is_some_and(|(target, beside)| {
        is_known(&beside.join(target.trim_end_matches(['\n', '\r'])))
    })
}

/// Returns what git would run. No hook has a dot in its name, and examples do.
fn hooks(directory: &Path) -> Vec<PathBuf> {
    if directory.is_symlink() {
        return vec![directory.to_owned()];
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_hook = |path: &PathBuf| path.extension().is_none();
    entries.map(|entry| entry.path()).filter(is_hook).collect()
}
