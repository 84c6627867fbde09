//! One file changed: in its turn, by an agent that knows what is there, and recorded before.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{AgentPath, Change, Fact, FileState, Host, ToolError};
use rustix::io::Errno;

use crate::{
    blocking,
    directory::{Directory, Former, Staged},
    files::{Current, Files, Stale},
    place::Place,
};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// All that is in it is replaced, so the agent has to know it.
    Write,
    /// A part of it is replaced, which says itself what has to be there.
    Edit,
    /// It goes, and a link goes as itself.
    Delete,
}

/// What a file is to become.
pub(crate) enum Next {
    /// A file with this content.
    Content(Vec<u8>),
    /// Nothing.
    Nothing,
}

/// Changes a file to what `make` makes of it, and returns what `make` says about it.
pub(crate) async fn rewrite(
    files: &Arc<Files>,
    place: Place,
    host: &dyn Host,
    act: Act,
    make: impl FnOnce(&Place, Option<&Former>) -> Result<(Next, String), ToolError> + Send + 'static,
) -> Result<String, ToolError> {
    let token = host.token();
    blocking::check(token)?;
    let turn = token.run_until_cancelled(files.turn(&place.real)).await;
    blocking::check(token)?;
    let job = Job { files: Arc::clone(files), agent: host.agent().clone(), place, act };
    let path = job.place.real.display().to_string();
    let (ready, said) = blocking::run(move || job.prepare(make)).await?;
    // Nothing was lost when they were made, and they go with what is in them.
    for directory in &ready.made {
        host.changing(directory_made(directory)).await?;
    }
    host.changing(ready.change(path.clone())).await?;
    // If nobody waits for this any more it is still done, and in its turn.
    let done = blocking::run(move || {
        let done = ready.finish();
        drop(turn);
        done
    });
    done.await?;
    host.note(Fact::Modified { path });
    Ok(said)
}

struct Job {
    files: Arc<Files>,
    agent: AgentPath,
    place: Place,
    act: Act,
}

impl Job {
    fn prepare(
        self,
        make: impl FnOnce(&Place, Option<&Former>) -> Result<(Next, String), ToolError>,
    ) -> Result<(Ready, String), ToolError> {
        let (place, fail) = (&self.place, |error| self.fail(&error));
        let (Some(above), Some(name)) = (place.real.parent(), place.real.file_name()) else {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        };
        let directory = match Directory::open(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.map_err(fail)?),
        };
        let former = directory.as_ref().map(|found| found.read(name)).transpose();
        let former = former.map_err(fail)?.flatten();
        if self.act != Act::Delete && former.as_ref().is_some_and(Former::is_link) {
            return Err(fail(Errno::LOOP.into()));
        }
        self.check(former.as_ref())?;
        let (next, said) = make(place, former.as_ref())?;
        let mut made = Vec::new();
        let step = match (next, directory) {
            (Next::Nothing, Some(directory)) => Step::Remove(directory),
            (Next::Nothing, None) => return Err(fail(Errno::NOENT.into())),
            (Next::Content(content), directory) => {
                let found = directory.map_or_else(|| Directory::make(above, &mut made), Ok);
                made.iter().for_each(|it| self.files.wrote(&self.agent, it, Some(&[])));
                let staged = found.and_then(|directory| {
                    if former.is_some() {
                        directory.check_writable(name)?;
                    }
                    directory.stage(&content, former.as_ref())
                });
                Step::Put(staged.map_err(fail)?, content)
            }
        };
        let Self { files, agent, place, .. } = self;
        Ok((Ready { files, agent, place, former, made, step }, said))
    }

    fn fail(&self, error: &io::Error) -> ToolError {
        match (error.kind(), self.act) {
            (io::ErrorKind::IsADirectory, Act::Delete) => self.place.refusal(
                "is a directory: delete what is in it file by file, or remove it with a command",
            ),
            (io::ErrorKind::IsADirectory, _) => self.place.refusal("is a directory: name a file"),
            _ => self.place.error(error),
        }
    }

    fn check(&self, former: Option<&Former>) -> Result<(), ToolError> {
        let current =
            former.map(|former| Current { content: &former.content, stamp: former.stamp.as_ref() });
        match self.files.check(&self.agent, &self.place.real, current) {
            Err(Stale::Unread) if self.act != Act::Write => Ok(()),
            checked => checked.map_err(|stale| self.place.refusal(stale)),
        }
    }
}

/// A change that is ready to be made.
struct Ready {
    files: Arc<Files>,
    agent: AgentPath,
    place: Place,
    former: Option<Former>,
    /// The directories that had to be made for it.
    made: Vec<PathBuf>,
    step: Step,
}

enum Step {
    Put(Staged, Vec<u8>),
    Remove(Directory),
}

impl Ready {
    fn change(&self, path: String) -> Change {
        let before = self.former.as_ref();
        let before =
            before.map(|it| (FileState::of(&it.content, it.mode), it.content.as_slice().into()));
        let after = match &self.step {
            Step::Put(staged, content) => Some(FileState::of(content, staged.mode)),
            Step::Remove(_) => None,
        };
        Change { path, before, after }
    }

    fn finish(self) -> Result<(), ToolError> {
        let Self { files, agent, place, former, step, .. } = self;
        let name = place.real.file_name().unwrap_or(OsStr::new(""));
        let (end, content) = match &step {
            Step::Put(staged, content) => (staged.put(name, former.as_ref()), Some(&**content)),
            Step::Remove(directory) => (directory.remove(name, former.as_ref()), None),
        };
        end.map_err(|error| place.error(&error))?;
        files.wrote(&agent, &place.real, content);
        Ok(())
    }
}

fn directory_made(path: &Path) -> Change {
    let after = Some(FileState::of(&[], FileState::DIRECTORY));
    Change { path: path.display().to_string(), before: None, after }
}
