//! A command line in a world of its own.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A home, a project in it, and nothing in the environment.
pub(crate) struct World {
    root: TempDir,
    variables: Vec<(String, String)>,
    stdin: String,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world =
            Self { root: TempDir::new().unwrap(), variables: Vec::new(), stdin: String::new() };
        fs::create_dir_all(world.project_directory().join("src/deep")).unwrap();
        world
    }

    pub(crate) fn project_directory(&self) -> PathBuf {
        // Resolved, since that is how the command names it.
        fs::canonicalize(self.root.path()).unwrap().join("project")
    }

    pub(crate) fn user_file(&self) -> PathBuf {
        self.root.path().join("config/adjutant/config.toml")
    }

    pub(crate) fn project_file(&self) -> PathBuf {
        self.project_directory().join(".adjutant/config.toml")
    }

    pub(crate) fn data_home(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn user(self, text: &str) -> Self {
        write(&self.user_file(), text);
        self
    }

    pub(crate) fn project(self, text: &str) -> Self {
        write(&self.project_file(), text);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.to_owned();
        self
    }

    /// Returns the command, to be run in the depth of the project.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env("XDG_DATA_HOME", self.data_home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.project_directory().join("src/deep"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        let mut child = self.command(arguments).spawn().unwrap();
        // A command that does not read its stdin may be gone by now.
        let _ = child.stdin.take().unwrap().write_all(self.stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Done {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that is refused: code 2, nothing on stdout, nothing left behind.
    /// Returns what it said.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let Done { code, stdout, stderr } = self.run(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
        assert!(!self.data_home().exists(), "something was written: {stderr}");
        stderr
    }

    /// Returns the settings that hold.
    pub(crate) fn config(&self, flags: &[&str]) -> Value {
        let done = self.run(&[&["config", "--json"], flags].concat());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        serde_json::from_str(&done.stdout).unwrap()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
