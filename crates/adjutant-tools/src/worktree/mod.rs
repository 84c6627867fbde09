//! Git worktrees, in which agents work alone.
//!
//! ```text
//!  the parent's directory ──copy──▶ worktree ──▶ patch ──merge──▶ the parent's directory
//!          base tree ◀──────────────────┘         (kept in any case)
//! ```
//!
//! A worktree begins as what is in the directory: also what is not committed, and what git does
//! not know of and does not ignore. It is kept apart from the project, in a directory of the
//! session's own. What the agent left there, and not what it committed, is what it hands over.
//! One whose session was killed stays where it is, and `git worktree list` names it.

mod apply;
mod bench;
mod difference;
mod place;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use adjutant_core::{AgentPath, Bench, Refusal, StandIn, ToolError, Workshop};
use futures_util::future::BoxFuture;

use self::{
    bench::Worktree,
    place::{Place, Unfinished},
};
use crate::{blocking, files::Files, git::Repository};

/// Makes worktrees for a session.
pub struct Worktrees {
    /// Where they are, and what they leave behind.
    pub directory: PathBuf,
    /// What is known of files, by all that change them.
    pub files: Arc<Files>,
}

impl Workshop for Worktrees {
    fn open<'a>(
        &'a self,
        agent: &'a AgentPath,
        workdir: &'a Path,
    ) -> BoxFuture<'a, Result<Box<dyn Bench>, Refusal>> {
        Box::pin(async {
            let opened = self.make(agent, workdir).await.map_err(Refusal::NoWorktree)?;
            Ok(Box::new(opened) as _)
        })
    }
}

impl Worktrees {
    async fn make(&self, agent: &AgentPath, workdir: &Path) -> Result<Worktree, String> {
        let repository = Repository::find(workdir).await?;
        let (directory, agent) = (self.directory.clone(), agent.clone());
        let found = repository.clone();
        // Whoever no longer waits for it leaves it unfinished, too.
        let opened = aside(move || {
            let place = Place::open(&directory, &agent, &found.top)?;
            let unfinished = Unfinished::new(&place, &found);
            Ok((place, unfinished))
        });
        let (place, unfinished) = opened.await?;
        let stand_in = StandIn { place: place.tree.clone(), original: repository.top.clone() };
        let (found, base) = place.fill(&repository).await?;
        // Git knows of no directory in which there is nothing.
        let workdir = stand_in.place_of(workdir);
        aside(move || fs::create_dir_all(&workdir).map_err(|error| told(&workdir, &error))).await?;
        unfinished.finish();
        let (over, files) = (SystemTime::now(), Arc::clone(&self.files));
        Ok(Worktree { repository, place, stand_in, base, found, over, files })
    }
}

/// Does something where it holds up nobody.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    blocking::run(move || work().map_err(ToolError)).await.map_err(|ToolError(why)| why)
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}
