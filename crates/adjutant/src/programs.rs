//! What is run for the person outside the sandbox, hooks and servers, where agents work.
//!
//! Whoever could change such a file could run anything. So the files they name stay what the
//! person left there.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
};

use crate::config::Config;

/// Something that is run outside the sandbox.
#[derive(Debug)]
pub(crate) struct Program {
    /// What it is told, its own name included.
    pub(crate) words: Vec<String>,
    /// Where it runs.
    pub(crate) directory: PathBuf,
}

impl Program {
    /// Returns the hooks.
    pub(crate) fn hooks(config: &Config, directory: &Path) -> Vec<Self> {
        let commands = config.hooks.iter().map(|hook| vec![hook.command.clone()]);
        commands.map(|words| Self { words, directory: directory.to_owned() }).collect()
    }

    /// Returns what has to stay as it is inside the scope. A link cannot be held by itself, so
    /// the directory it is in has to stay too.
    pub(crate) fn protected(&self, scope: &Path) -> BTreeSet<PathBuf> {
        let mut places = searched(scope);
        places.push(self.directory.clone());
        let words = self.words.iter().flat_map(|word| pieces(word));
        let found = words.flat_map(|word| places.iter().map(move |place| place.join(word)));
        found.filter(|path| path.is_file()).flat_map(|path| held(&path, scope)).collect()
    }
}

/// Returns the places inside the scope where programs are looked for by name.
fn searched(scope: &Path) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|place| place.starts_with(scope)).collect()
}

/// Returns all that might be the name of a file in some words of a shell or an option.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let quoted = word.split(['\'', '"']);
    let plain = word.split(|c: char| c.is_whitespace() || "'\"`;|&<>()=:,".contains(c));
    quoted.chain(plain).filter(|piece| !piece.is_empty())
}

fn held(path: &Path, scope: &Path) -> Vec<PathBuf> {
    let links = path.ancestors().filter(|path| path.is_symlink()).filter_map(|link| {
        let directory = link.parent()?.canonicalize().ok()?;
        Some(if directory == scope { directory.join(link.file_name()?) } else { directory })
    });
    let held = links.chain(path.canonicalize());
    held.filter(|path| path.starts_with(scope) && path != scope).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn all_files_that_are_named_are_held_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let scope = place.path().canonicalize().unwrap().join("scope");
        for name in ["a.sh", "b c.sh", "bin/d", "e.json", "other", "../outside"] {
            let path = scope.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let protected = |word: &str| -> Vec<String> {
            let program = Program { words: vec![word.to_owned()], directory: scope.clone() };
            let inside = |path: &PathBuf| path.strip_prefix(&scope).unwrap().display().to_string();
            program.protected(&scope).iter().map(inside).collect()
        };
        assert_eq!(protected("test -f x && ./a.sh;bin/d|cat>y"), ["a.sh", "bin/d"]);
        assert_eq!(protected("sh 'b c.sh' --with=e.json"), ["b c.sh", "e.json"]);
        assert_eq!(protected("bin/../a.sh ../outside . bin"), ["a.sh"]);
        assert_eq!(protected(scope.join("a.sh").to_str().unwrap()), ["a.sh"]);
        symlink("../other", scope.join("bin/link")).unwrap();
        symlink("bin/d", scope.join("link")).unwrap();
        symlink("../outside", scope.join("away")).unwrap();
        assert_eq!(protected("bin/link"), ["bin", "other"]);
        assert_eq!(protected("./link"), ["bin/d", "link"]);
        assert_eq!(protected("./away"), ["away"]);
    }
}
