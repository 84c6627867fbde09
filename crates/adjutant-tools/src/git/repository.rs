//! Where a repository is.

use std::path::{Path, PathBuf};

use super::Git;

/// A working tree of a repository.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Where its files are.
    pub top: PathBuf,
    /// Where git keeps what goes with this working tree.
    pub directory: PathBuf,
    /// Where its history is.
    pub common: PathBuf,
}

impl Repository {
    /// Finds the working tree that a directory is in.
    pub async fn find(directory: &Path) -> Result<Self, String> {
        let ask = |what: &'static str| {
            Git::at(directory).args(["rev-parse", "--path-format=absolute", what]).line(b"")
        };
        let found = ask("--show-toplevel").await.map_err(|why| match why.as_str() {
            "git is not installed" => why,
            _ => format!("`{}` is in no working tree of git ({why})", directory.display()),
        });
        let (top, own) = (found?.into(), ask("--git-dir").await?.into());
        Ok(Self { top, directory: own, common: ask("--git-common-dir").await?.into() })
    }

    /// Asks of this one, whatever is put in its place meanwhile.
    pub fn git(&self) -> Git {
        Git::of(&self.directory, &self.top)
    }

    /// Returns the latest commit, if there is one.
    pub async fn head(&self) -> Option<String> {
        let ask = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
        self.git().args(ask).name(b"").await.ok()
    }
}
