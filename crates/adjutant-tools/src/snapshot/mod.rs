//! What commands do to files. Nobody can tell before, so all files are looked at before and
//! after; what changed is recorded as if a tool had done it.
//!
//! What `.gitignore` names is not looked at, nor what is in `.git`. A change by somebody else
//! while a command runs is taken for the command's, and of several commands for that of the
//! first to end.

mod entry;
mod ignored;
mod ledger;
mod pack;

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::SystemTime,
};

use adjutant_core::{Change, Fact, Host, Mode, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard};

use self::{
    entry::Entry,
    ledger::{Difference, Ledger, Scope, Seen},
};
use crate::{blocking, files::Files};

/// How many files are named in a result.
const NAMED: usize = 5;

/// What is known of the files commands may change, by a whole tree.
pub struct Snapshots {
    ledger: Arc<Mutex<Ledger>>,
    files: Arc<Files>,
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
    snapshot: std::sync::Mutex<Option<Arc<Snapshot>>>,
    /// What is to be said with the next result.
    trouble: std::sync::Mutex<Option<String>>,
}

/// The files a command may change, as they were when it began.
struct Snapshot {
    snapshots: Arc<Snapshots>,
    scope: Arc<Scope>,
}

impl Watch {
    /// Looks at what a command may change, if anybody wants that.
    pub(crate) async fn begin(snapshots: Option<&Arc<Snapshots>>, host: &dyn Host) -> Self {
        let Some(snapshots) = snapshots else { return Self::default() };
        let (snapshot, trouble) = match Snapshots::begin(snapshots, host).await {
            Ok(snapshot) => (snapshot.map(Arc::new), None),
            Err(trouble) => (None, Some(trouble)),
        };
        Self { snapshot: snapshot.into(), trouble: trouble.into() }
    }

    /// Records what the command did so far. Returns what is to be said of it, as lines.
    pub(crate) async fn record(&self, host: &dyn Host) -> String {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.say(snapshot, host).await
    }

    /// Does the same for the last time.
    pub(crate) async fn end(&self, host: &dyn Host) -> String {
        let snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.say(snapshot, host).await
    }

    async fn say(&self, snapshot: Option<Arc<Snapshot>>, host: &dyn Host) -> String {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        let recorded = match snapshot {
            Some(snapshot) => snapshot.record(host).await,
            None => None,
        };
        trouble.into_iter().chain(recorded).flat_map(|line| [line, "\n".to_owned()]).collect()
    }
}

impl Snapshots {
    /// Makes one that keeps what files held in a directory until the process ends.
    pub fn new(directory: PathBuf, files: Arc<Files>) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::new(directory)));
        Self { ledger, files, has_failed: AtomicBool::new(false) }
    }

    /// Looks at all a command of that host may change. A command that can change nothing needs
    /// no snapshot. If it cannot be looked at, the error is for the result: the command runs all
    /// the same.
    async fn begin(snapshots: &Arc<Self>, host: &dyn Host) -> Result<Option<Snapshot>, String> {
        let places = host.grant().scope().to_owned();
        if host.grant().mode() == Mode::Plan
            || places.is_empty()
            || snapshots.has_failed.load(Relaxed)
        {
            return Ok(None);
        }
        let skipped = host.grant().protected().to_owned();
        let scope = Arc::new(Scope { places, skipped, since: SystemTime::now() });
        let begun = snapshots.with_ledger({
            let (scope, files) = (Arc::clone(&scope), Arc::clone(&snapshots.files));
            move |ledger| {
                files.look(|path| scope.has(path) && ledger.is_free(path));
                ledger.begin(&scope)
            }
        });
        match begun.await {
            Ok(_) => Ok(Some(Snapshot { snapshots: Arc::clone(snapshots), scope })),
            Err(why) => Err(snapshots.give_up(&why)),
        }
    }

    async fn with_ledger<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ledger) -> Result<T, String> + Send + 'static,
    ) -> Result<(T, OwnedMutexGuard<Ledger>), String> {
        let mut ledger = Arc::clone(&self.ledger).lock_owned().await;
        let done = blocking::run(move || {
            let done = work(&mut ledger).map_err(ToolError)?;
            Ok((done, ledger))
        });
        done.await.map_err(|ToolError(why)| why)
    }

    fn give_up(&self, why: &str) -> String {
        self.has_failed.store(true, Relaxed);
        format!("[what commands do to files cannot be undone from here on: {why}]")
    }
}

impl Snapshot {
    /// Records what changed since it was made or this was last asked for. Returns what is to be
    /// said of it in the result.
    async fn record(&self, host: &dyn Host) -> Option<String> {
        let scope = Arc::clone(&self.scope);
        let (seen, mut ledger) = match self.snapshots.with_ledger(move |it| it.end(&scope)).await {
            Ok(seen) => seen,
            Err(why) => return Some(self.snapshots.give_up(&why)),
        };
        let Seen { differences, made } = seen;
        let mut lost = Vec::new();
        for directory in made {
            let path = directory.display().to_string();
            let change = Change { path, before: None, after: Some(ledger::directory()) };
            // The files in it tell of the same trouble.
            let _ = host.changing(change).await;
        }
        for difference in differences {
            if let Err(why) = self.note(&difference, &mut ledger, host).await {
                lost.push(format!("`{}` ({why})", difference.path.display()));
            }
        }
        self.snapshots.files.look(|path| self.scope.has(path));
        (!lost.is_empty()).then(|| unrecorded(&lost))
    }

    async fn note(
        &self,
        difference: &Difference,
        ledger: &mut Ledger,
        host: &dyn Host,
    ) -> Result<(), String> {
        let Difference { path, before, after } = difference;
        let pack = ledger.pack()?;
        let former = |entry: &Option<Entry>| {
            let former = entry.as_ref().map(|entry| entry.former(pack)).transpose();
            former.map_err(|error| error.to_string())
        };
        let (before, (after, content)) = (former(before)?, former(after)?.unzip());
        // What a tool did is recorded already.
        if self.snapshots.files.is_by_tool(path, content.as_deref()) {
            return Ok(());
        }
        let name = path.to_str().ok_or("its name is not UTF-8")?.to_owned();
        let change = Change { path: name.clone(), before, after };
        host.changing(change).await.map_err(|ToolError(why)| why)?;
        host.note(Fact::Modified { path: name });
        self.snapshots.files.ran_over(host.agent(), path, content.as_deref());
        Ok(())
    }
}

fn unrecorded(lost: &[String]) -> String {
    let more = lost.len().saturating_sub(NAMED);
    let end = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("[cannot be undone: {}{end}]", lost[..lost.len() - more].join(", "))
}
