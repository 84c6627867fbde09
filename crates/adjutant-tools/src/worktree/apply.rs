//! Makes an agent's changes in the directory they are meant for: all, or none.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Change, Fact, FileState, Host, ToolError};

use super::{
    aside,
    bench::MOST_LISTED,
    difference::{Difference, Merged, Version},
    told,
    tree::Kind,
};
use crate::{files::Files, handle, restore::Spot};

/// Where changes come from and where they go.
pub(super) struct Route<'a> {
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    pub(super) scratch: &'a Path,
}

/// What is at a path: its state and its content. A directory has none.
type Thing = (FileState, Arc<[u8]>);

/// What is to become of a path, and what was there when that was decided.
struct Step {
    path: PathBuf,
    found: Option<FileState>,
    next: Option<Thing>,
}

/// Makes the changes. Returns the files in which they do not go together with what is there,
/// and then makes none.
pub(super) async fn apply(
    differences: &[Difference],
    route: &Route<'_>,
    files: &Arc<Files>,
    host: &dyn Host,
) -> Result<Vec<PathBuf>, String> {
    let mut turns = Vec::new();
    // In the order of their names, as everybody who waits for several does.
    for difference in differences {
        turns.push(files.turn(&route.to.join(&difference.name)).await);
    }
    let (mut steps, mut conflicts) = (Vec::new(), Vec::new());
    for difference in differences {
        match plan(difference, differences, route).await? {
            Plan::Step(step) => steps.push(step),
            Plan::Nothing => {}
            Plan::Conflict => conflicts.push(difference.name.clone()),
        }
    }
    if !conflicts.is_empty() {
        return Ok(conflicts);
    }
    // What goes makes room for what comes.
    steps.sort_by_key(|step| step.next.is_some());
    let mut maker = Maker { files, host, done: Vec::new() };
    let Err(why) = maker.make(steps, route.to).await else { return Ok(Vec::new()) };
    let left = maker.take_back().await;
    if left.is_empty() {
        return Err(why);
    }
    Err(format!("{why}, and not all that was made could be taken back: {}", left.join(", ")))
}

enum Plan {
    Step(Step),
    Nothing,
    Conflict,
}

async fn plan(
    difference: &Difference,
    all: &[Difference],
    route: &Route<'_>,
) -> Result<Plan, String> {
    let path = route.to.join(&difference.name);
    let found = match blocking(path.clone(), look).await? {
        Found::Thing(thing) => Some(thing),
        Found::Nothing => None,
        // It is in the way, unless all that is in it goes.
        Found::Directory => {
            let goes =
                |it: &Difference| it.after.is_none() && it.name.starts_with(&difference.name);
            if !all.iter().any(goes) {
                return Ok(Plan::Conflict);
            }
            None
        }
        Found::Elsewhere => return Ok(Plan::Conflict),
    };
    let now = found
        .as_ref()
        .map(|(state, content)| Version { kind: kind(state.mode), content: Arc::clone(content) });
    let next = match difference.merge(now.as_ref(), route.scratch).await? {
        Merged::Same => return Ok(Plan::Nothing),
        Merged::Conflict => return Ok(Plan::Conflict),
        Merged::Becomes(next) => next,
    };
    let found = found.map(|(state, _)| state);
    let next = match next {
        None => None,
        Some(Version { kind, content }) => {
            let made = route.from.join(&difference.name);
            let made = blocking(made, |made| Ok(made_with(made))).await?;
            Some((FileState::of(&content, mode(kind, found.as_ref(), made)), content))
        }
    };
    Ok(Plan::Step(Step { path, found, next }))
}

fn kind(mode: u32) -> Kind {
    match mode {
        FileState::LINK => Kind::Link,
        mode if mode & 0o100 == 0 => Kind::File,
        _ => Kind::Program,
    }
}

/// Returns the mode an agent gave a file.
fn made_with(path: &Path) -> u32 {
    fs::symlink_metadata(path).map_or(0o100_644, |made| 0o100_000 | made.mode() & 0o777)
}

/// Returns the mode a file gets: that of what it replaces, or else what the agent gave it.
fn mode(kind: Kind, found: Option<&FileState>, made: u32) -> u32 {
    let found = found.map(|state| state.mode).filter(|mode| *mode != FileState::LINK);
    let mode = found.unwrap_or(made);
    match kind {
        Kind::Link => FileState::LINK,
        Kind::File => mode & !0o111,
        // Whoever may read it may run it.
        Kind::Program if mode & 0o100 == 0 => mode | (mode & 0o444) >> 2,
        Kind::Program => mode,
    }
}

enum Found {
    Nothing,
    Thing(Thing),
    Directory,
    /// A link leads to it.
    Elsewhere,
}

fn look(path: &Path) -> io::Result<Found> {
    let spot = match Spot::find(path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Found::Nothing),
        Err(error) if handle::is_link(&error) => return Ok(Found::Elsewhere),
        spot => spot?,
    };
    Ok(match (spot.state(), spot.content()) {
        (None, _) => Found::Nothing,
        (Some(_), None) => Found::Directory,
        (Some(state), Some(content)) => Found::Thing((state, content)),
    })
}

/// Does something with a path where it holds up nobody.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    aside(move || work(&path).map_err(|error| told(&path, &error))).await
}

/// Reports whether what is there is what was found. Of a directory only the name counts.
fn is_same(found: Option<&FileState>, now: Option<&FileState>) -> bool {
    let is_directory = |it: Option<&FileState>| it.is_some_and(FileState::is_directory);
    found == now || is_directory(found) && is_directory(now)
}

/// A change that was made: what was there before, and what was put there.
struct Done {
    path: PathBuf,
    before: Option<Thing>,
    after: Option<FileState>,
}

/// Makes changes one by one, and takes them back if one cannot be made.
struct Maker<'a> {
    files: &'a Arc<Files>,
    host: &'a dyn Host,
    /// What was done, the latest last.
    done: Vec<Done>,
}

impl Maker<'_> {
    async fn make(&mut self, steps: Vec<Step>, top: &Path) -> Result<(), String> {
        let changed = steps.iter().take(MOST_LISTED).map(|step| step.path.clone());
        let changed: Vec<_> = changed.collect();
        for Step { path, found, next } in steps {
            if next.is_some() {
                self.make_room(&path, top).await?;
            }
            let is_gone = next.is_none();
            self.change(path.clone(), found, next).await?;
            if is_gone {
                self.clear(&path, top).await?;
            }
        }
        for path in changed {
            self.host.note(Fact::Modified { path: path.display().to_string() });
        }
        Ok(())
    }

    /// Makes the directories that are missing above a path.
    async fn make_room(&mut self, path: &Path, top: &Path) -> Result<(), String> {
        let mut above: Vec<_> = path.ancestors().skip(1).take_while(|it| *it != top).collect();
        above.reverse();
        for directory in above {
            if !blocking(directory.to_owned(), |it| Ok(it.exists())).await? {
                let empty = (FileState::of(&[], FileState::DIRECTORY), Arc::from([]));
                self.change(directory.to_owned(), None, Some(empty)).await?;
            }
        }
        Ok(())
    }

    /// Removes the directories above a path in which nothing is left.
    async fn clear(&mut self, path: &Path, top: &Path) -> Result<(), String> {
        for directory in path.ancestors().skip(1).take_while(|it| *it != top) {
            let is_empty = |it: &Path| Ok(fs::read_dir(it)?.next().is_none());
            if !blocking(directory.to_owned(), is_empty).await.unwrap_or(false) {
                break;
            }
            let found = blocking(directory.to_owned(), |it| Ok(Spot::find(it)?.state())).await?;
            self.change(directory.to_owned(), found, None).await?;
        }
        Ok(())
    }

    /// Changes one path, recorded before, if what is there is what was found.
    async fn change(
        &mut self,
        path: PathBuf,
        found: Option<FileState>,
        next: Option<Thing>,
    ) -> Result<(), String> {
        let spot = blocking(path.clone(), Spot::find).await?;
        let before = spot.state().map(|state| (state, spot.content().unwrap_or_default()));
        if !is_same(found.as_ref(), spot.state().as_ref()) {
            return Err(format!("somebody changed `{}` just now", path.display()));
        }
        let after = next.as_ref().map(|(state, _)| state.clone());
        let change = Change {
            path: path.display().to_string(),
            before: before.clone(),
            after: after.clone(),
        };
        self.host.changing(change).await.map_err(|ToolError(why)| why)?;
        let content = next.as_ref().map(|(_, content)| Arc::clone(content));
        let put = move |_: &Path| match next {
            Some((state, content)) => spot.put(&state, &content),
            None => spot.remove(),
        };
        blocking(path.clone(), put).await?;
        self.files.wrote(self.host.agent(), &path, content.as_deref());
        self.done.push(Done { path, before, after });
        Ok(())
    }

    /// Takes back what nobody has changed since, and tells what stays and why.
    async fn take_back(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        for Done { path, before, after } in std::mem::take(&mut self.done).into_iter().rev() {
            left.extend(self.change(path, after, before).await.err());
        }
        left
    }
}
