//! What becomes of the agents' work in a git repository: a commit at the end, checkpoints on the
//! way. Both are the runtime's, of the root's work; no agent makes any.

mod checkpoint;
mod commit;
mod stage;

use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::{AgentPath, Event, EventKind, Follow, Followed, Journal, SessionId};
use adjutant_tools::git::Repository;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::config::Config;
use checkpoint::Checkpoints;
use stage::Stage;

/// How long the root waits for a checkpoint.
const PATIENCE: Duration = Duration::from_secs(60);

/// The work of a session, as far as git is to keep it.
pub(crate) struct Work {
    /// For a commit, if one is wanted.
    stage: Option<Stage>,
    task: String,
    done: Arc<Done>,
}

/// What was done so far.
struct Done {
    /// Where the program's own files are, which are no work.
    own_places: Vec<PathBuf>,
    state: Mutex<State>,
    checkpoints: tokio::sync::Mutex<Option<Checkpoints>>,
}

#[derive(Default)]
struct State {
    /// The files that were changed.
    files: BTreeSet<PathBuf>,
    /// Whether that was since the last checkpoint.
    is_news: bool,
    warnings: Vec<String>,
}

impl Work {
    /// Prepares to keep the work of a session, if that is wanted.
    pub(crate) async fn new(
        config: &Config,
        directory: &Path,
        task: &str,
    ) -> Result<Option<Self>, String> {
        if !config.auto_commit && !config.checkpoints {
            return Ok(None);
        }
        let repository = Repository::find(directory).await?;
        let data = config.data.as_deref().ok_or("there is no place for data")?;
        let stage = || Stage::new(repository.clone(), data);
        let checkpoints = config.checkpoints.then(|| Checkpoints::new(stage(), task.to_owned()));
        let done = Arc::new(Done {
            own_places: config.own_places.clone(),
            state: Mutex::default(),
            checkpoints: tokio::sync::Mutex::new(checkpoints),
        });
        let stage = config.auto_commit.then(stage);
        Ok(Some(Self { stage, task: task.to_owned(), done }))
    }

    /// Returns the journal, followed.
    pub(crate) fn follow(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
        let follower = Arc::new(Checkpointing(Arc::clone(&self.done)));
        Arc::new(Followed::new(journal, follower))
    }

    /// Commits, if that is wanted and the task was completed, and returns what a person should
    /// know.
    pub(crate) async fn end(self, session: SessionId, is_completed: bool) -> Vec<String> {
        let Self { stage, task, done } = self;
        let State { files, mut warnings, .. } = mem::take(&mut *done.state());
        if let Some(stage) = stage.filter(|_| is_completed) {
            let said = commit::commit(&stage, &files, &task, &session.to_string()).await;
            let failed = |why| format!("warning: nothing was committed: {why}");
            warnings.push(said.unwrap_or_else(failed));
        }
        warnings
    }
}

impl Done {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was changed, and reports whether a turn of the root's ends in which something
    /// was.
    fn note(&self, batch: &[Event]) -> bool {
        let mut state = self.state();
        let mut is_end = false;
        for event in batch {
            match &event.kind {
                EventKind::Changed { file, .. } => {
                    let file = PathBuf::from(file);
                    if !self.own_places.iter().any(|place| file.starts_with(place)) {
                        state.files.insert(file);
                        state.is_news = true;
                    }
                }
                EventKind::Said { .. } | EventKind::Finished { .. } => {
                    is_end |= event.path == AgentPath::root();
                }
                _ => {}
            }
        }
        is_end && mem::take(&mut state.is_news)
    }

    /// Takes a checkpoint. After one that failed there are no more.
    async fn checkpoint(&self, session: SessionId) {
        let mut place = self.checkpoints.lock().await;
        let Some(mut checkpoints) = place.take() else { return };
        let why = match timeout(PATIENCE, checkpoints.take(session)).await {
            Ok(Ok(())) => {
                *place = Some(checkpoints);
                return;
            }
            Ok(Err(why)) => why,
            Err(_) => format!("one took longer than {} seconds", PATIENCE.as_secs()),
        };
        self.state().warnings.push(format!("warning: there are no more checkpoints: {why}"));
    }
}

/// Has the root wait for a checkpoint at the end of its turn.
struct Checkpointing(Arc<Done>);

impl Follow for Checkpointing {
    fn follow(&self, session: SessionId, batch: &[Event]) -> Option<BoxFuture<'static, ()>> {
        let is_end = self.0.note(batch);
        let done = Arc::clone(&self.0);
        is_end.then(|| Box::pin(async move { done.checkpoint(session).await }) as _)
    }
}
