//! Which files were left out, by the rules as they were.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files with rules, the stronger first.
const NAMES: [&str; 2] = [".ignore", ".gitignore"];

/// Rules of directories. A command may change them: what it makes visible by that was there
/// before, and undoing must not remove it.
#[derive(Default)]
pub(super) struct Ignored(HashMap<PathBuf, Gitignore>);

impl Ignored {
    /// Reports whether a file has rules.
    pub(super) fn is_rules(path: &Path) -> bool {
        NAMES.iter().any(|name| path.file_name().is_some_and(|it| it == *name))
    }

    /// Adds the rules a file held.
    pub(super) fn add(&mut self, path: &Path, content: &[u8]) {
        let mut builder = GitignoreBuilder::new(path.parent().unwrap_or(path));
        for line in String::from_utf8_lossy(content).lines() {
            // A line that is no rule leaves nothing out.
            let _ = builder.add_line(None, line);
        }
        self.0.extend(builder.build().map(|rules| (path.to_owned(), rules)));
    }

    /// Reports whether a file or a directory was left out.
    pub(super) fn has(&self, path: &Path, is_directory: bool) -> bool {
        let mut rules = path.ancestors().skip(1).flat_map(|directory| {
            NAMES.iter().filter_map(|name| self.0.get(&directory.join(name)))
        });
        let decided = rules.find_map(|rules| {
            let verdict = rules.matched_path_or_any_parents(path, is_directory);
            (!verdict.is_none()).then(|| verdict.is_ignore())
        });
        decided.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_decides() {
        let mut ignored = Ignored::default();
        for (path, rules) in [
            ("/p/.gitignore", "target\n*.log\nout/\n[bad\n"),
            ("/p/src/.gitignore", "!keep.log\nhere.txt"),
            ("/p/.ignore", "!shown.log"),
        ] {
            assert!(Ignored::is_rules(Path::new(path)));
            ignored.add(Path::new(path), rules.as_bytes());
        }
        let left_out =
            ["/p/target", "/p/target/a/b", "/p/x.log", "/p/src/x.log", "/p/src/here.txt"];
        let others = ["/p/src/keep.log", "/p/here.txt", "/p/shown.log", "/q/target", "/p/src/x.rs"];
        for path in left_out {
            assert!(ignored.has(Path::new(path), false), "{path}");
        }
        for path in others {
            assert!(!ignored.has(Path::new(path), false), "{path}");
        }
        let out = Path::new("/p/out");
        assert!(ignored.has(out, true) && !ignored.has(out, false));
    }
}
