//! What AGENTS.md files tell every agent.

use std::path::{Path, PathBuf};

use crate::{Surroundings, agents::read_text, lineage::lineage};

/// What such a file is called.
const FILE: &str = "AGENTS.md";

/// The most of all of them that is told, in bytes.
const MOST: usize = 32 * 1024;

/// What AGENTS.md files say to whoever works in a directory, as they were when they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentsMd {
    /// All of them, if there are any.
    pub(crate) text: Option<String>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

impl AgentsMd {
    /// Reads the user's own and those from the top of the project down to a directory.
    pub(crate) fn read(around: &Surroundings, directory: &Path) -> Self {
        let above = lineage(directory, around.home.as_deref());
        let top = above.last().cloned().unwrap_or_default();
        let mut room = MOST;
        let mut files = Self::default();
        // The nearest counts most, so it has its room first.
        let mut parts: Vec<_> = above
            .iter()
            .filter_map(|it| files.part(&it.join(FILE), Some(&top), &mut room))
            .collect();
        let own = around.config_home.join("adjutant").join(FILE);
        parts.extend(files.part(&own, None, &mut room));
        parts.reverse();
        if !parts.is_empty() {
            let parts = parts.join("\n\n");
            files.text = Some(format!(
                "## {FILE}\n\nThe user and the project say this to every agent. A later file \
                 counts more than an earlier one, and your task counts more than all.\n\n{parts}"
            ));
        }
        files
    }

    /// Reads one file, which may not lead out of the project's top directory.
    fn part(&mut self, file: &Path, top: Option<&Path>, room: &mut usize) -> Option<String> {
        file.symlink_metadata().ok()?;
        let heading = format!("### {}", file.display().to_string().escape_debug());
        let text = match text(file, top) {
            Ok(text) => text,
            Err(why) => {
                self.warnings.push(why);
                return Some(format!("{heading}\n\n[it is left out, since it cannot be used]"));
            }
        };
        let text = text.trim();
        let shown = &text[..text.floor_char_boundary(*room)];
        *room -= shown.len();
        let cut = match text.len() - shown.len() {
            0 => String::new(),
            left_out => {
                let why =
                    format!("the last {left_out} bytes are left out: there is room for {MOST}");
                self.warnings.push(format!("{}: {why} of all such files", file.display()));
                format!("\n[{why}]")
            }
        };
        Some(format!("{heading}\n\n{shown}{cut}"))
    }
}

fn text(file: &Path, top: Option<&Path>) -> Result<String, String> {
    let is_outside = |real: PathBuf| top.is_some_and(|top| !real.starts_with(top));
    if file.canonicalize().is_ok_and(is_outside) {
        return Err(format!("{}: leads out of the project", file.display()));
    }
    read_text(file).map_err(|problem| problem.aside())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    struct World {
        _keep: tempfile::TempDir,
        top: PathBuf,
    }

    impl World {
        fn new() -> Self {
            let keep = tempfile::tempdir().unwrap();
            let top = keep.path().canonicalize().unwrap();
            fs::create_dir_all(top.join("project/.git")).unwrap();
            fs::create_dir_all(top.join("project/sub/deep")).unwrap();
            Self { _keep: keep, top }
        }

        fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn read(&self) -> AgentsMd {
            let around = Surroundings {
                home: Some(self.top.clone()),
                config_home: self.top.join("config"),
                ..Surroundings::bare(self.top.join("project/sub/deep"))
            };
            AgentsMd::read(&around, &around.directory)
        }

        fn text(&self) -> String {
            self.read().text.unwrap().replace(&self.top.display().to_string(), "")
        }
    }

    #[test]
    fn the_nearest_comes_last_and_the_users_own_first() {
        let world = World::new();
        assert_eq!(world.read(), AgentsMd::default());
        world.file("project/AGENTS.md", "top\n").file("project/sub/deep/AGENTS.md", "\nnear");
        world.file("config/adjutant/AGENTS.md", "own").file("AGENTS.md", "of nobody");
        let parts = "### /config/adjutant/AGENTS.md\n\nown\n\n### /project/AGENTS.md\n\ntop\n\n\
                     ### /project/sub/deep/AGENTS.md\n\nnear";
        let text = world.text();
        assert!(text.starts_with("## AGENTS.md\n\n"), "{text}");
        assert!(text.ends_with(&format!("\n\n{parts}")), "{text}");
        assert!(!text.contains("of nobody"));
    }

    #[test]
    fn the_nearest_has_its_room_first_and_what_is_left_out_is_said() {
        let world = World::new();
        world.file("project/sub/deep/AGENTS.md", "n".repeat(MOST - 2));
        world.file("project/AGENTS.md", "tép");
        world.file("config/adjutant/AGENTS.md", "own");
        let text = world.text();
        let warnings = world.read().warnings;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("/project/AGENTS.md: the last 3 bytes are left out"));
        assert!(text.ends_with(&"n".repeat(MOST - 2)));
        let left_out =
            |count| format!("[the last {count} bytes are left out: there is room for 32768]");
        // A character is not cut in two.
        assert!(
            text.contains(&format!("/project/AGENTS.md\n\nt\n{}", left_out(3))),
            "{}",
            &text[..800]
        );
        let own = format!("/adjutant/AGENTS.md\n\no\n{}", left_out(2));
        assert!(text.contains(&own), "{}", &text[..800]);
        assert!(text.len() < MOST + 1024);
    }

    #[test]
    fn what_cannot_be_used_is_warned_of_and_holds_nobody_up() {
        let world = World::new();
        world.file("project/AGENTS.md", b"ok\n\xff").file("secret", "hidden words");
        fs::create_dir(world.top.join("project/sub/AGENTS.md")).unwrap();
        symlink(world.top.join("secret"), world.top.join("project/sub/deep/AGENTS.md")).unwrap();
        fs::create_dir_all(world.top.join("config/adjutant")).unwrap();
        let pipe = world.top.join("config/adjutant/AGENTS.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let AgentsMd { text, warnings } = world.read();
        assert!(!text.unwrap().contains("hidden words"));
        let expected = [
            "leads out of the project",
            "it is no file",
            "AGENTS.md:2: is not UTF-8",
            "it is no file",
        ];
        assert_eq!(warnings.len(), expected.len());
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{warning}");
        }
    }
}
