//! Git, asked so that nothing of the user's changes by itself: no hook, filter or prompt is run,
//! and no index but the one that is named is touched.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

/// Longer than any of it takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);

const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// One question to git, or one order.
pub(super) struct Git(Command);

impl Git {
    /// Asks in a directory.
    pub(super) fn at(directory: &Path) -> Self {
        let mut command = Command::new("git");
        command.current_dir(directory).args(["--no-pager", "--literal-pathspecs"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // Whoever runs us may be git itself, and then these mean another repository or index.
        let ours = std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_"));
        for (name, _) in ours {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "adjutant");
            command.env(format!("GIT_{role}_EMAIL"), "adjutant@localhost");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        Self(command)
    }

    /// Uses an index of our own, and a repository whatever stands in the directory.
    pub(super) fn with(mut self, repository: &Path, work_tree: &Path, index: &Path) -> Self {
        self.0.env("GIT_DIR", repository).env("GIT_WORK_TREE", work_tree);
        self.0.env("GIT_INDEX_FILE", index);
        self
    }

    pub(super) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.0.args(arguments);
        self
    }

    /// Is to forget a worktree that is gone.
    pub(super) fn forget(self, worktree: &Path) -> Self {
        self.args(["worktree", "remove", "--force", "--force"]).args([worktree])
    }

    /// Does it where nobody can wait, as well as it can be done.
    pub(super) fn now(mut self) {
        let _ = self.0.as_std_mut().stdin(Stdio::null()).output();
    }

    /// Returns what git answers, or what is wrong in its own words.
    pub(super) async fn ask(self, input: &[u8]) -> Result<Vec<u8>, String> {
        let output = self.output(input).await.map_err(|error| complaint(&error))?;
        if output.status.success() { Ok(output.stdout) } else { Err(words(&output)) }
    }

    /// Returns one line that git answers.
    pub(super) async fn line(self, input: &[u8]) -> Result<OsString, String> {
        let mut line = self.ask(input).await?;
        line.pop_if(|last| *last == b'\n');
        Ok(OsString::from_vec(line))
    }

    /// Returns a name of a thing that git keeps.
    pub(super) async fn name(self, input: &[u8]) -> Result<String, String> {
        Ok(self.line(input).await?.to_string_lossy().into_owned())
    }

    /// Returns all that git answers, whether or not it is content.
    pub(super) async fn output(mut self, input: &[u8]) -> io::Result<Output> {
        let mut child = self.0.spawn()?;
        let pipe = child.stdin.take();
        let feed = async {
            if let Some(mut pipe) = pipe {
                // One that wants no more says so by its code.
                let _ = pipe.write_all(input).await;
            }
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        timeout(PATIENCE, both).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

fn complaint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => format!("git cannot be run: {error}"),
    }
}

fn words(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    let line = words.lines().find(|line| !line.trim().is_empty());
    format!("git says: {}", line.unwrap_or("nothing, but it failed").trim())
}

/// A working tree of a repository.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// Where its files are.
    pub(super) top: PathBuf,
    /// Where its history is.
    pub(super) common: PathBuf,
}

impl Repository {
    /// Finds the working tree that a directory is in.
    pub(super) async fn find(directory: &Path) -> Result<Self, String> {
        let ask = |what: &'static str| {
            Git::at(directory).args(["rev-parse", "--path-format=absolute", what]).line(b"")
        };
        let found = ask("--show-toplevel").await.map_err(|why| match why.as_str() {
            "git is not installed" => why,
            _ => format!("`{}` is in no working tree of git ({why})", directory.display()),
        });
        let (top, common) = (found?, ask("--git-common-dir").await?);
        Ok(Self { top: top.into(), common: common.into() })
    }

    /// Returns the latest commit, if there is one.
    pub(super) async fn head(&self) -> Option<String> {
        let ask = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        Git::at(&self.top).args(ask).name(b"").await.ok()
    }
}

/// Splits what ends with a nought each.
pub(super) fn entries(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

/// Writes a name so that git reads it back from a line, whatever is in it.
pub(super) fn quoted(path: &Path) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'!'..=b'~' if !b"\"\\".contains(byte) => quoted.push(*byte),
            _ => quoted.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    quoted.extend(b"\"\n");
    quoted
}
