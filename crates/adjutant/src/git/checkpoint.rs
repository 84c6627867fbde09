//! The whole work tree, kept beside the branch.

use adjutant_core::SessionId;

use super::stage::{self, Stage};

/// Checkpoints of one session.
pub(super) struct Checkpoints {
    /// Which git finds again what has not changed by.
    stage: Stage,
    task: String,
    count: u32,
    /// The last one, or what was there before the first.
    parent: Option<String>,
}

impl Checkpoints {
    pub(super) fn new(stage: Stage, task: String) -> Self {
        Self { stage, task, count: 0, parent: None }
    }

    /// Keeps the work tree as it is. The branch and the index stay as they are.
    pub(super) async fn take(&mut self, session: SessionId) -> Result<(), String> {
        let Self { stage, .. } = self;
        if self.count == 0 {
            self.parent = stage.repository.head().await;
            stage.begin(self.parent.as_deref()).await?;
        }
        let known = stage::known(stage.git()).await?.into_iter().map(|entry| entry.name);
        let names = known.chain(stage::new(stage.git()).await?).collect();
        stage.take_in(names).await?;
        let tree = stage.tree().await?;
        let number = self.count + 1;
        let message = format!("Checkpoint {number} of {session}\n\n{}", self.task);
        let parent = self.parent.iter().flat_map(|parent| ["-p", parent]);
        let commit = stage.git().as_adjutant().args(["commit-tree", &tree]).args(parent);
        let id = commit.name(message.as_bytes()).await?;
        let name = format!("refs/adjutant/{session}/{number}");
        // Nobody has that name yet.
        stage.git().as_adjutant().args(["update-ref", &name, &id, ""]).ask(b"").await?;
        (self.count, self.parent) = (number, Some(id));
        Ok(())
    }
}
