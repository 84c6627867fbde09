//! Files that an agent is told before its task.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use adjutant_core::{Effect, Grant, ToolSpec};
use serde_json::Value;

use crate::{brief, glob::Glob, handle, read_file::ReadFile, typed::TypedTool as _, walk};

/// The longest file that is told, and the most of all of them, in bytes.
const LONGEST: usize = 128 * 1024;
const MOST: usize = 512 * 1024;
/// How many entries of a directory are looked at for one pattern.
const MOST_ENTRIES: usize = 100_000;
/// How far a file is looked at to tell whether it is text.
const PROBE: usize = 512;

/// Files that an agent is told before its task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// What they are called, from the directory they were looked for in, and what they say.
    pub told: Vec<(String, String)>,
    /// Those that are left out, and why.
    pub left_out: Vec<(String, String)>,
    /// The patterns that fit no file.
    pub idle: Vec<String>,
}

impl ContextFiles {
    /// Reads the files below a directory, which has no link in its path, that fit one of the
    /// patterns. As with `find_files`, what `.gitignore` names is left out, and so are hidden
    /// files unless a pattern names them. A pattern is matched from the directory down.
    pub fn read(patterns: &[String], grant: &Grant, directory: &Path) -> Result<Self, String> {
        let mut files = Self::default();
        let mut found = BTreeMap::new();
        for pattern in patterns {
            if !files.find(pattern, directory, &mut found)? {
                files.idle.push(pattern.clone());
            }
        }
        let mut room = MOST;
        for (real, name) in found {
            match read(&real, grant, directory).and_then(|text| fit(text, &mut room)) {
                Ok(text) => files.told.push((name, text)),
                Err(why) => files.left_out.push((name, why)),
            }
        }
        files.told.sort();
        files.left_out.sort();
        Ok(files)
    }

    /// Finds the files that fit a pattern, by where they really are, and reports whether there
    /// is one.
    fn find(
        &mut self,
        pattern: &str,
        directory: &Path,
        found: &mut BTreeMap<PathBuf, String>,
    ) -> Result<bool, String> {
        let glob = Glob::from_top(pattern).map_err(|error| error.to_string())?;
        let mut fits = false;
        let walk = walk::unjudged(directory, glob.hidden);
        for (count, entry) in walk.flatten().enumerate() {
            if count >= MOST_ENTRIES {
                let why = format!("there is more than {MOST_ENTRIES} entries to look at");
                self.left_out.push((pattern.to_owned(), why));
                break;
            }
            let Ok(below) = entry.path().strip_prefix(directory) else { continue };
            if entry.file_type().is_some_and(|kind| kind.is_dir()) || !glob.is_match(below) {
                continue;
            }
            fits = true;
            // What a link leads to that leads nowhere is told of when it is read.
            let real = entry.path().canonicalize().unwrap_or_else(|_| entry.path().to_owned());
            found.entry(real).or_insert_with(|| brief::path(below));
        }
        Ok(fits)
    }
}

/// Reads a file, or says why it is left out.
fn read(real: &Path, grant: &Grant, directory: &Path) -> Result<String, String> {
    if !real.starts_with(directory) {
        return Err("it leads out of the directory".to_owned());
    }
    let (name, description) = (ReadFile::NAME.to_owned(), String::new());
    let spec = ToolSpec { name, description, parameters: Value::Null, effect: Effect::Read };
    if !grant.shows(&spec, real) {
        return Err("it may not be read without a question".to_owned());
    }
    let bytes = bytes(real).map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    if bytes[..bytes.len().min(PROBE)].contains(&0) {
        return Err("it is no text".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn bytes(real: &Path) -> io::Result<Vec<u8>> {
    let (file, _): (fs::File, _) = handle::open(real)?;
    let mut bytes = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes room for a text, if there is enough left.
fn fit(text: String, room: &mut usize) -> Result<String, String> {
    match room.checked_sub(text.len()) {
        Some(left) => {
            *room = left;
            Ok(text)
        }
        None => Err(format!("there is room for {MOST} bytes in all")),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use adjutant_core::{Access, Charter, Mode, Rules};

    use super::*;

    struct Ground {
        _keep: tempfile::TempDir,
        top: PathBuf,
    }

    impl Ground {
        fn new() -> Self {
            let keep = tempfile::tempdir().unwrap();
            let top = keep.path().canonicalize().unwrap().join("work");
            fs::create_dir(&top).unwrap();
            Self { _keep: keep, top }
        }

        fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            self
        }

        #[expect(clippy::disallowed_methods, reason = "there is no root above these")]
        fn grant(&self, rules: Rules) -> Grant {
            Grant::mint(Charter {
                mode: Mode::Ask,
                rules: vec![rules],
                // Whoever has no tools is told files all the same.
                access: Access::AllowList { tools: Default::default() },
                scope: vec![self.top.clone()],
                protected: Vec::new(),
                shown: Vec::new(),
                depth: 0,
            })
        }

        fn read(&self, patterns: &[&str], rules: Rules) -> ContextFiles {
            let patterns: Vec<_> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            ContextFiles::read(&patterns, &self.grant(rules), &self.top).unwrap()
        }

        fn told(&self, patterns: &[&str]) -> Vec<String> {
            let ContextFiles { told, .. } = self.read(patterns, Rules::default());
            told.into_iter().map(|(name, _)| name).collect()
        }
    }

    #[test]
    fn files_are_told_once_and_in_order() {
        let ground = Ground::new();
        for name in ["b.md", "a.md", "src/a.rs", "src/deep/c.md", ".env", ".ci/x.md", "built.md"] {
            ground.file(name, name);
        }
        ground.file(".gitignore", "built.md");
        assert_eq!(ground.told(&["*.md", "a.*", "b.md"]), ["a.md", "b.md"]);
        assert_eq!(ground.told(&["**"]), ["a.md", "b.md", "src/a.rs", "src/deep/c.md"]);
        assert_eq!(ground.told(&[".ci/*"]), [".ci/x.md"]);
        let read = ground.read(&["./src/*.rs", "*.none"], Rules::default());
        assert_eq!(read.told, [("src/a.rs".to_owned(), "src/a.rs".to_owned())]);
        assert_eq!(read.idle, ["*.none"]);
    }

    #[test]
    fn what_may_not_be_read_without_a_question_is_left_out() {
        let ground = Ground::new();
        ground.file("a.md", "").file("secret.md", "").file("odd.md", "");
        let rules = Rules {
            deny: vec!["read_file(secret*)".parse().unwrap()],
            ask: vec!["read_file(odd.md)".parse().unwrap()],
            ..Rules::default()
        };
        let ContextFiles { told, left_out, .. } = ground.read(&["*.md"], rules);
        assert_eq!(told, [("a.md".to_owned(), String::new())]);
        let why = "it may not be read without a question".to_owned();
        assert_eq!(left_out, [("odd.md".to_owned(), why.clone()), ("secret.md".to_owned(), why)]);
    }

    #[test]
    fn nothing_outside_is_told() {
        let ground = Ground::new();
        ground.file("a.md", "a").file("../out.md", "secret");
        symlink("../out.md", ground.top.join("out.md")).unwrap();
        symlink("..", ground.top.join("up")).unwrap();
        symlink("a.md", ground.top.join("z.md")).unwrap();
        let ContextFiles { told, left_out, .. } = ground.read(&["**"], Rules::default());
        assert_eq!(told, [("a.md".to_owned(), "a".to_owned())]);
        let names: Vec<_> = left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["out.md", "up"]);
        assert!(left_out.iter().all(|(_, why)| why.contains("leads out")), "{left_out:?}");
        let patterns = ["../out.md".to_owned()];
        let grant = ground.grant(Rules::default());
        assert!(ContextFiles::read(&patterns, &grant, &ground.top).is_err());
    }

    #[test]
    fn what_is_no_short_text_is_left_out() {
        let ground = Ground::new();
        ground
            .file("binary", b"a\0b")
            .file("latin", b"\xe9")
            .file("late", [b"a".repeat(512), vec![0]].concat());
        ground.file("long", "a".repeat(LONGEST + 1)).file("whole", "a".repeat(LONGEST));
        let ContextFiles { told, left_out, .. } = ground.read(&["*"], Rules::default());
        let names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["late", "whole"]);
        let names: Vec<_> = left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["binary", "latin", "long"]);
    }

    #[test]
    fn all_together_are_bounded() {
        let ground = Ground::new();
        for name in ["a", "b", "c", "d", "e"] {
            ground.file(name, "a".repeat(LONGEST));
        }
        ground.file("f", "");
        let ContextFiles { told, left_out, .. } = ground.read(&["*"], Rules::default());
        assert_eq!(told.iter().map(|(_, text)| text.len()).sum::<usize>(), MOST);
        assert_eq!(told.len(), 5);
        assert_eq!(left_out, [("e".to_owned(), format!("there is room for {MOST} bytes in all"))]);
    }
}
