//! Git, asked so that nothing is run but git itself and, where files are taken in, the filters a
//! person configured: no hook, monitor, pager, prompt or connection. Whoever asks keeps to
//! commands that do not look into repositories inside the one they are asked about, since those
//! may be an agent's and have settings of their own.

mod repository;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

pub use repository::Repository;

/// Longer than any of it takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// The most that is taken of an answer, in bytes.
const LONGEST: u64 = 256 << 20;
/// The most that is kept of what git says is wrong.
const MOST_WORDS: u64 = 64 << 10;

const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // What looks like a repository among the files is none.
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

const VARIABLES: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // What is missing is not fetched, by whatever program the settings name for that.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// One question to git, or one order.
pub struct Git(Command);

/// What git answered, whether or not it is content.
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) text: Vec<u8>,
    words: Vec<u8>,
}

impl Git {
    /// Asks in a directory, of the repository that is found from there.
    pub fn at(directory: &Path) -> Self {
        let mut command = Command::new("git");
        command.current_dir(directory).args(["--no-pager", "--literal-pathspecs"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // Whoever runs us may be git itself, and then these mean another repository or index.
        let theirs = std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_"));
        for (name, _) in theirs {
            command.env_remove(name);
        }
        command.envs(VARIABLES);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        Self(command)
    }

    /// Asks of a repository and a work tree, whatever stands there.
    pub(crate) fn of(repository: &Path, work_tree: &Path) -> Self {
        let mut git = Self::at(work_tree);
        git.0.env("GIT_DIR", repository).env("GIT_WORK_TREE", work_tree);
        git
    }

    /// Uses an index of our own.
    pub fn index(mut self, index: &Path) -> Self {
        self.0.env("GIT_INDEX_FILE", index);
        self
    }

    /// Signs with our name: whoever it is that keeps something, it is not the person.
    pub fn as_adjutant(mut self) -> Self {
        for role in ["AUTHOR", "COMMITTER"] {
            self.0.env(format!("GIT_{role}_NAME"), "adjutant");
            self.0.env(format!("GIT_{role}_EMAIL"), "adjutant@localhost");
        }
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.0.args(arguments);
        self
    }

    /// Returns what git answers, or what is wrong in its own words.
    pub async fn ask(self, input: &[u8]) -> Result<Vec<u8>, String> {
        let answer = self.answer(input).await?;
        if answer.status.success() { Ok(answer.text) } else { Err(words(&answer.words)) }
    }

    /// Returns one line that git answers.
    pub async fn line(self, input: &[u8]) -> Result<OsString, String> {
        let mut line = self.ask(input).await?;
        line.pop_if(|last| *last == b'\n');
        Ok(OsString::from_vec(line))
    }

    /// Returns a name of a thing that git keeps.
    pub async fn name(self, input: &[u8]) -> Result<String, String> {
        Ok(self.line(input).await?.to_string_lossy().into_owned())
    }

    /// Has git answer into a file, however much that is.
    pub(crate) async fn ask_into(mut self, file: File) -> Result<(), String> {
        self.0.stdout(file);
        self.ask(b"").await.map(|_| ())
    }

    /// Returns all that git answers, whether or not it is content.
    pub(crate) async fn answer(self, input: &[u8]) -> Result<Answer, String> {
        let answered = timeout(PATIENCE, self.run(input)).await;
        answered
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|it| complaint(&it))
    }

    async fn run(mut self, input: &[u8]) -> io::Result<Answer> {
        let mut child = self.0.spawn()?;
        let (pipe, answer, words) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async {
            if let Some(mut pipe) = pipe {
                // One that wants no more says so by its code.
                let _ = pipe.write_all(input).await;
            }
            Ok(())
        };
        let ((), text, words) = tokio::try_join!(feed, whole(answer, LONGEST), beginning(words))?;
        Ok(Answer { status: child.wait().await?, text, words })
    }
}

/// Reads all there is, if it is not too much.
async fn whole(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(most + 1).read_to_end(&mut text).await?;
    }
    if text.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Reads all there is, and keeps the first of it.
async fn beginning(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(MOST_WORDS).read_to_end(&mut text).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(text)
}

fn complaint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        io::ErrorKind::TimedOut => {
            format!("git took longer than {} seconds and was stopped", PATIENCE.as_secs())
        }
        io::ErrorKind::FileTooLarge => {
            format!("it is more than the {} MiB that are taken of git's answer", LONGEST >> 20)
        }
        _ => format!("git cannot be run: {error}"),
    }
}

fn words(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let line = words.lines().find(|line| !line.trim().is_empty());
    format!("git says: {}", line.unwrap_or("nothing, but it failed").trim())
}

/// Splits what ends with a nought each.
pub fn entries(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

/// Writes a name so that git reads it back from a line, whatever is in it.
pub(crate) fn quoted(path: &Path) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_refused_and_not_cut() {
        assert_eq!(whole(Some(&b"four"[..]), 4).await.unwrap(), b"four");
        let error = whole(Some(&b"fives"[..]), 4).await.unwrap_err();
        assert_eq!(complaint(&error), "it is more than the 256 MiB that are taken of git's answer");
    }

    #[tokio::test(start_paused = true)]
    async fn git_that_hangs_is_stopped() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let hangs = Git::at(place.path()).args(["hash-object".as_ref(), pipe.as_os_str()]);
        let why = hangs.ask(b"").await.unwrap_err();
        assert_eq!(why, "git took longer than 300 seconds and was stopped");
    }

    #[tokio::test]
    async fn what_looks_like_a_repository_among_the_files_is_none() {
        let place = tempfile::tempdir().unwrap();
        let here = || Git::at(place.path());
        here().args(["init", "--quiet", "--bare", "."]).ask(b"").await.unwrap();
        let why = here().args(["rev-parse", "--git-dir"]).ask(b"").await.unwrap_err();
        assert!(why.contains("safe.bareRepository"), "{why}");
    }
}
