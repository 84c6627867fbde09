//! A git repository, as far as the runtime uses it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Variables that would lead git somewhere else.
const ASTRAY: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A git repository and its work tree.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// The work tree.
    pub(super) top: PathBuf,
    /// Where git keeps its own.
    pub(super) directory: PathBuf,
}

impl Repository {
    /// Finds the one a directory is in.
    pub(super) fn find(directory: &Path) -> Result<Self, String> {
        let mut command = git(directory);
        let found = run(command.args(["rev-parse", "--show-toplevel", "--absolute-git-dir"]))?;
        let (top, directory) = found.split_once('\n').ok_or("git does not say where it is")?;
        Ok(Self { top: top.into(), directory: directory.into() })
    }

    /// Runs git in the work tree and returns what it wrote.
    pub(super) fn git<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, String> {
        run(git(&self.top).args(arguments))
    }

    /// Does the same with an index of its own.
    pub(super) fn git_with<S: AsRef<OsStr>>(
        &self,
        index: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, String> {
        let mut command = git(&self.top);
        // Whoever it is that keeps the work, it is not the person.
        command.env("GIT_INDEX_FILE", index).envs([
            ("GIT_AUTHOR_NAME", "adjutant"),
            ("GIT_AUTHOR_EMAIL", "adjutant@localhost"),
            ("GIT_COMMITTER_NAME", "adjutant"),
            ("GIT_COMMITTER_EMAIL", "adjutant@localhost"),
        ]);
        run(command.args(arguments))
    }
}

fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    // Nothing of the project's is run, and names are names, whatever is in them.
    command
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "--literal-pathspecs",
        ])
        .current_dir(directory)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null());
    for name in ASTRAY {
        command.env_remove(name);
    }
    command
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("git failed and does not say why").to_owned())
}
