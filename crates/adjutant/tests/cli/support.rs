//! A command line in a world of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use adjutant_core::{Event, Journal as _};
use adjutant_store::{Durability, LocalBus, SqliteJournal};
use serde_json::Value;
use tempfile::TempDir;

use crate::running::Running;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_adjutant");
pub(crate) const SETSID: &str = "/usr/bin/setsid";

/// A home, a project in it, and nothing in the environment.
pub(crate) struct World {
    root: TempDir,
    variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    /// Nothing if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let world =
            Self { root: TempDir::new().unwrap(), variables: Vec::new(), stdin: Vec::new() };
        fs::create_dir_all(world.working_directory()).unwrap();
        world
    }

    pub(crate) fn project_directory(&self) -> PathBuf {
        // Resolved, since that is how the command names it.
        fs::canonicalize(self.root.path()).unwrap().join("project")
    }

    pub(crate) fn working_directory(&self) -> PathBuf {
        self.root.path().join("project/src/deep")
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

    /// Writes a file where the command works.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        write(&self.working_directory().join(name), text);
        self
    }

    /// Reads a file where the command works.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.working_directory().join(name)).unwrap()
    }

    /// Writes a script and makes it the model.
    pub(crate) fn script(self, text: &str) -> Self {
        let path = self.root.path().join("script.toml");
        write(&path, text);
        self.variable("ADJUTANT_MODEL", &format!("scripted/{}", path.display()))
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Returns the command. The terminal the tests are run on is out of its reach, where that
    /// can be had: it would ask there.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        if Path::new(SETSID).exists() {
            self.prepare(SETSID, &[&[PROGRAM], arguments].concat())
        } else {
            self.prepare(PROGRAM, arguments)
        }
    }

    /// Returns any command, to be run in the depth of the project.
    pub(crate) fn prepare(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env("XDG_DATA_HOME", self.data_home())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.working_directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running<'_> {
        Running::new(self, self.command(arguments), &self.stdin)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.start(arguments).finish()
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

    /// Reads what the journal kept of the latest session.
    pub(crate) fn journal(&self) -> Vec<Arc<Event>> {
        let path = self.data_home().join("adjutant/journal.db");
        let bus = Arc::new(LocalBus::default());
        let journal = SqliteJournal::new(path, Durability::Process, bus);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let sessions = journal.sessions().await.unwrap();
            let Some(latest) = sessions.first() else { return Vec::new() };
            journal.read(latest.id, 0, usize::MAX).await.unwrap()
        })
    }
}

impl Done {
    /// Reads the events on stdout. A line may tell that fragments are missing, which anyone
    /// can do without; and the last one is no line if the process died over it.
    pub(crate) fn events(&self) -> Vec<Event> {
        let lines = self.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let events = lines.filter(|line| !line.contains(r#""event":"lagged""#));
        events.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
