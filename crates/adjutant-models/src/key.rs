//! Keys: where they come from, and that they are shown to nobody.

use std::{
    fmt,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{ModelError, Trouble};
use reqwest::header::HeaderValue;
use tokio::{process::Command, sync::OnceCell, time::timeout};

/// How long a command may take to write a key: time enough to unlock a store by hand.
const PATIENCE: Duration = Duration::from_secs(30);

/// A key, which is shown to nobody but its provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

impl Key {
    /// Makes a key of what a variable holds.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// Returns the value of the header it is sent in.
    pub(crate) fn header(&self, before: &str) -> Result<HeaderValue, ModelError> {
        let value = HeaderValue::try_from(format!("{before}{}", self.0));
        let mut value = value.map_err(|_| {
            let why = "the key has characters that no key has; is it the right one?";
            ModelError::new(Trouble::Unauthorized, why)
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Reports whether it is too long to be a word as well.
    pub(crate) fn is_distinct(&self) -> bool {
        self.0.len() >= 8
    }

    /// Takes the key out of a text that is to be shown.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// Where a provider's key comes from. Shown, it says so and not what the key is.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A variable, by its name.
    Variable(String, Key),
    /// What a command writes.
    Command(Arc<KeyCommand>),
}

impl KeySource {
    /// Returns the key. A command is run for it once.
    pub(crate) async fn key(&self) -> Result<&Key, ModelError> {
        match self {
            Self::Variable(_, key) => Ok(key),
            Self::Command(command) => command.key().await,
        }
    }

    /// Returns the key, if that needs no command.
    pub(crate) fn known(&self) -> Option<&Key> {
        match self {
            Self::Variable(_, key) => Some(key),
            Self::Command(command) => command.key.get(),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name, _) => f.write_str(name),
            Self::Command(_) => f.write_str("key_command"),
        }
    }
}

/// A command that writes a provider's key, run when the key is first needed.
#[derive(Debug)]
pub struct KeyCommand {
    provider: String,
    command: String,
    key: OnceCell<Key>,
}

impl KeyCommand {
    pub(crate) fn new(provider: &str, command: &str) -> Self {
        let (provider, command) = (provider.to_owned(), command.to_owned());
        Self { provider, command, key: OnceCell::new() }
    }

    async fn key(&self) -> Result<&Key, ModelError> {
        let run = async || {
            let failed = |why: String| {
                let message = format!("`providers.{}.key_command` {why}", self.provider);
                ModelError::new(Trouble::Unauthorized, message)
            };
            let (status, written) = self.run().await.map_err(failed)?;
            let text = String::from_utf8(written)
                .map_err(|_| failed("wrote what is not text".to_owned()))?;
            if !status.success() {
                return Err(failed(format!("failed: {status}")));
            }
            if text.trim().is_empty() {
                return Err(failed("wrote no key".to_owned()));
            }
            Ok(Key::new(&text))
        };
        self.key.get_or_try_init(run).await
    }

    async fn run(&self) -> Result<(ExitStatus, Vec<u8>), String> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).kill_on_drop(true);
        // What it says besides the key may say too much of it.
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.map_err(|_| format!("took longer than {} s", PATIENCE.as_secs()))?;
        let output = output.map_err(|error| format!("could not be started: {error}"))?;
        Ok((output.status, output.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(command: &str) -> Result<Key, String> {
        let command = KeyCommand::new("acme", command);
        command.key().await.cloned().map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = Key::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.redact("wrong key sk-secret!"), "wrong key [key]!");
        let source = KeySource::Variable("ACME_API_KEY".to_owned(), key);
        assert_eq!(source.to_string(), "ACME_API_KEY");
        assert!(!format!("{source:?}").contains("secret"));
    }

    #[tokio::test]
    async fn a_command_writes_the_key() {
        assert_eq!(run("echo; echo '  sk-1 '").await, Ok(Key::new("sk-1")));
    }

    #[tokio::test]
    async fn a_command_that_fails_is_told_without_its_words() {
        let name = "`providers.acme.key_command`";
        for (command, why) in [
            ("echo sk-secret; echo secret >&2; exit 7", "failed: exit status: 7"),
            ("echo", "wrote no key"),
            ("printf '\\377secret'", "wrote what is not text"),
        ] {
            assert_eq!(run(command).await, Err(format!("{name} {why}")));
        }
    }

    #[tokio::test]
    async fn a_command_is_run_once_and_only_when_it_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let count = directory.path().join("count");
        let command = KeyCommand::new("acme", &format!("echo x >> {0}; cat {0}", count.display()));
        assert!(!count.exists());
        for _ in 0..3 {
            assert_eq!(command.key().await, Ok(&Key::new("x")));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_does_not_end_is_given_up() {
        let why = run("sleep 60").await.unwrap_err();
        assert_eq!(why, "`providers.acme.key_command` took longer than 30 s");
    }
}
