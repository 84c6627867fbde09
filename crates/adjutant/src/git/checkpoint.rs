//! The whole work tree, kept beside the branch.

use std::path::{Path, PathBuf};

use adjutant_core::SessionId;
use uuid::Uuid;

use super::repository::Repository;

/// Checkpoints of one session.
pub(super) struct Checkpoints {
    repository: Repository,
    task: String,
    /// An index of their own, which git finds again what has not changed by.
    index: PathBuf,
    count: u32,
    /// The last one, or what was there before the first.
    parent: Option<String>,
}

impl Checkpoints {
    pub(super) fn new(repository: Repository, data: &Path, task: String) -> Self {
        let index = data.join(format!("checkpoint-{}", Uuid::now_v7().simple()));
        Self { repository, task, index, count: 0, parent: None }
    }

    /// Keeps the work tree as it is. The branch and the index stay as they are.
    pub(super) fn take(&mut self, session: SessionId) -> Result<(), String> {
        let Self { repository, index, .. } = self;
        if self.count == 0 {
            self.parent = repository.git(["rev-parse", "--verify", "--quiet", "HEAD"]).ok();
            let tree = self.parent.as_deref().unwrap_or("--empty");
            repository.git_with(index, ["read-tree", tree])?;
        }
        repository.git_with(index, ["add", "--all"])?;
        let tree = repository.git_with(index, ["write-tree"])?;
        let number = self.count + 1;
        let message = format!("Checkpoint {number} of {session}\n\n{}", self.task);
        let parent = self.parent.iter().flat_map(|parent| ["-p", parent]);
        let arguments = ["commit-tree", "-m", &message, &tree].into_iter().chain(parent);
        let id = repository.git_with(index, arguments)?;
        let name = format!("refs/adjutant/{session}/{number}");
        // Nobody has that name yet.
        repository.git_with(index, ["update-ref", &name, &id, ""])?;
        (self.count, self.parent) = (number, Some(id));
        Ok(())
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        // What is left over is only in the way.
        let _ = std::fs::remove_file(&self.index);
    }
}
