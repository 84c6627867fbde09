//! What commands do to files. Nobody can tell before, so all files are looked at before and
//! after; what changed is recorded as if a tool had done it, in the name of the call that started
//! the command.
//!
//! What `.gitignore` names is not looked at, nor what is in `.git`. A change by somebody else
//! while a command runs is taken for the command's, and of several commands at once for that of
//! the first that ends or is asked for. What was done before another began is told apart.

mod entry;
mod ignored;
mod ledger;
mod pack;

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::SystemTime,
};

use adjutant_core::{AgentPath, Change, Fact, FileState, Host, Mode, Recorder, ToolError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use self::{
    entry::Entry,
    ledger::{Difference, Ledger, Scope},
};
use crate::{blocking, files::Files};

/// How many files are named in a result.
const NAMED: usize = 5;

/// What is known of the files commands may change, by a whole tree.
pub struct Snapshots {
    ledger: Arc<Turn<Ledger>>,
    files: Arc<Files>,
    /// Of the commands at work, the oldest first.
    at_work: Mutex<Vec<Weak<Snapshot>>>,
    /// Set when something went wrong, which is told once.
    has_failed: AtomicBool,
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}

/// The files one command may change, until it has ended. Without a snapshot nothing is
/// recorded.
#[derive(Default)]
pub(crate) struct Watch {
    snapshot: Arc<Turn<Option<Arc<Snapshot>>>>,
    /// Why there is none, to be said with the next result.
    trouble: Mutex<Option<String>>,
}

/// The files a command may change, as they were when it began.
struct Snapshot {
    snapshots: Arc<Snapshots>,
    scope: Arc<Scope>,
    agent: AgentPath,
    recorder: Arc<dyn Recorder>,
    untold: Mutex<Untold>,
}

/// What was recorded and no call has told yet.
#[derive(Default)]
struct Untold {
    modified: Vec<String>,
    trouble: Vec<String>,
    /// Why nobody looks any more.
    given_up: Option<String>,
}

/// Whether a command is looked at again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is at work.
    Again,
    /// It has ended.
    Last,
}

impl Watch {
    /// Looks at what a command may change, if anybody wants that.
    pub(crate) async fn begin(snapshots: Option<&Arc<Snapshots>>, host: &dyn Host) -> Self {
        let Some(snapshots) = snapshots else { return Self::default() };
        let (snapshot, trouble) = match Snapshots::begin(snapshots, host).await {
            Ok(snapshot) => (snapshot, None),
            Err(trouble) => (None, Some(trouble)),
        };
        Self { snapshot: Arc::new(Turn::new(snapshot)), trouble: trouble.into() }
    }

    /// Records what the command did since it was last looked at. Returns what is to be said of
    /// it, as lines.
    pub(crate) async fn record(&self, look: Look, host: &dyn Host) -> String {
        let Untold { modified, mut trouble, given_up } = self.look(look).await;
        modified.into_iter().for_each(|path| host.note(Fact::Modified { path }));
        let from_the_start = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        for why in given_up.into_iter().chain(from_the_start) {
            trouble
                .push(format!("[what commands do to files cannot be undone from here on: {why}]"));
            host.note(Fact::Unwatched { why });
        }
        trouble.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect()
    }

    /// Records what the command did when nobody is left to be told.
    pub(crate) async fn end(&self) {
        self.look(Look::Last).await;
    }

    async fn look(&self, look: Look) -> Untold {
        let mut snapshot = Arc::clone(&self.snapshot).lock_owned().await;
        // If nobody waits for this any more it is still done, and who looks next waits for it.
        let looking = tokio::spawn(async move {
            let Some(at_work) = snapshot.clone() else { return Untold::default() };
            at_work.record().await;
            if look == Look::Last {
                *snapshot = None;
            }
            std::mem::take(&mut *at_work.untold())
        });
        looking.await.unwrap_or_default()
    }
}

impl Snapshots {
    /// Makes one that keeps what files held in a directory until the process ends.
    pub fn new(directory: PathBuf, files: Arc<Files>) -> Self {
        let ledger = Arc::new(Turn::new(Ledger::new(directory)));
        Self { ledger, files, at_work: Mutex::default(), has_failed: AtomicBool::new(false) }
    }

    /// Looks at all a command of that host may change. A command that can change nothing needs
    /// no snapshot. If it cannot be looked at, the error is for the result: the command runs all
    /// the same.
    async fn begin(
        snapshots: &Arc<Self>,
        host: &dyn Host,
    ) -> Result<Option<Arc<Snapshot>>, String> {
        let places = host.grant().scope().to_owned();
        if host.grant().mode() == Mode::Plan
            || places.is_empty()
            || snapshots.has_failed.load(Relaxed)
        {
            return Ok(None);
        }
        let skipped = host.grant().protected().to_owned();
        let scope = Arc::new(Scope { places, skipped, since: SystemTime::now() });
        // What they did until now is theirs.
        for other in snapshots.beside(&scope) {
            other.record().await;
        }
        let begun = snapshots.with_ledger({
            let (scope, files) = (Arc::clone(&scope), Arc::clone(&snapshots.files));
            move |ledger| {
                files.look(|path| scope.has(path) && ledger.is_free(path));
                ledger.begin(&scope)
            }
        });
        begun.await.inspect_err(|_| snapshots.has_failed.store(true, Relaxed))?;
        let (agent, recorder) = (host.agent().clone(), host.recorder());
        let (snapshots, untold) = (Arc::clone(snapshots), Mutex::default());
        let snapshot = Arc::new(Snapshot { snapshots, scope, agent, recorder, untold });
        snapshot.snapshots.at_work().push(Arc::downgrade(&snapshot));
        Ok(Some(snapshot))
    }

    /// Returns the commands that are at work in a scope.
    fn beside(&self, scope: &Scope) -> Vec<Arc<Snapshot>> {
        let mut at_work = self.at_work();
        at_work.retain(|other| other.strong_count() > 0);
        let others = at_work.iter().filter_map(Weak::upgrade);
        others.filter(|other| other.scope.meets(scope)).collect()
    }

    fn at_work(&self) -> MutexGuard<'_, Vec<Weak<Snapshot>>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn with_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ledger) -> Result<T, String> + Send + 'static,
    ) -> Result<(T, OwnedMutexGuard<Ledger>), String> {
        let ledger = Arc::clone(&self.ledger).lock_owned().await;
        let (done, ledger) = aside(ledger, work).await?;
        Ok((done?, ledger))
    }
}

/// Does something with the ledger where it holds up nobody.
async fn aside<T: Send + 'static>(
    mut ledger: OwnedMutexGuard<Ledger>,
    work: impl FnOnce(&mut Ledger) -> T + Send + 'static,
) -> Result<(T, OwnedMutexGuard<Ledger>), String> {
    let done = blocking::run(move || Ok((work(&mut ledger), ledger)));
    done.await.map_err(|ToolError(why)| why)
}

impl Snapshot {
    /// Records what changed since it was made or this was last done.
    async fn record(&self) {
        if let Err(why) = self.try_record().await {
            self.snapshots.has_failed.store(true, Relaxed);
            self.untold().given_up = Some(why);
        }
    }

    async fn try_record(&self) -> Result<(), String> {
        let scope = Arc::clone(&self.scope);
        let (differences, mut ledger) =
            self.snapshots.with_ledger(move |ledger| ledger.end(&scope)).await?;
        let mut lost = Vec::new();
        for difference in differences {
            let name = difference.path.display().to_string();
            let files = Arc::clone(&self.snapshots.files);
            let (change, again) =
                aside(ledger, move |ledger| change(difference, ledger, &files)).await?;
            ledger = again;
            let noted = match change {
                Ok(None) => Ok(()),
                Ok(Some(change)) => self.note(change).await,
                Err(why) => Err(why),
            };
            lost.extend(noted.err().map(|why| format!("`{name}` ({why})")));
        }
        self.snapshots.files.look(|path| self.scope.has(path));
        if !lost.is_empty() {
            self.untold().trouble.push(unrecorded(&lost));
        }
        Ok(())
    }

    async fn note(&self, seen: Seen) -> Result<(), String> {
        let Seen { difference, change, content } = seen;
        let path = change.path.clone();
        self.recorder.changing(change).await.map_err(|ToolError(why)| why)?;
        if !difference.is_of_directories() {
            self.snapshots.files.ran_over(&self.agent, &difference.path, content.as_deref());
            self.untold().modified.push(path);
        }
        difference.trouble().map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn untold(&self) -> MutexGuard<'_, Untold> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change, and what the file holds now.
struct Seen {
    difference: Difference,
    change: Change,
    content: Option<Arc<[u8]>>,
}

/// Returns what is to be recorded of a difference. What a tool did is recorded already.
fn change(
    difference: Difference,
    ledger: &mut Ledger,
    files: &Files,
) -> Result<Option<Seen>, String> {
    let pack = ledger.pack()?;
    let former = |entry: &Option<Entry>| {
        let former = entry.as_ref().map(|entry| entry.former(pack)).transpose();
        former.map_err(|error| error.to_string())
    };
    let before = former(&difference.before)?;
    let (after, content) = former(&difference.after)?.unzip();
    let is_known = after.as_ref().is_none_or(FileState::is_known);
    if is_known && files.is_by_tool(&difference.path, content.as_deref()) {
        return Ok(None);
    }
    let path = difference.path.to_str().ok_or("its name is not UTF-8")?.to_owned();
    Ok(Some(Seen { difference, change: Change { path, before, after }, content }))
}

fn unrecorded(lost: &[String]) -> String {
    let more = lost.len().saturating_sub(NAMED);
    let end = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("[cannot be undone: {}{end}]", lost[..lost.len() - more].join(", "))
}
