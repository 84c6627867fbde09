//! Who is, and was, in the tree.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use adjutant_core::{AgentId, AgentPath, Delivery, Purse, Report, State, Status};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, mailbox::Mailbox, seat::Identity};

/// How many finished agents are remembered; the journal has all.
const FINISHED: usize = 256;

/// What others can know of an agent, and do to it.
pub(crate) struct Entry {
    pub(crate) identity: Arc<Identity>,
    pub(crate) delivery: Delivery,
    /// Cancelled when the agent is told to stop. What it does hangs below, by way of
    /// its seat's `work`, which also ends when its time is up.
    pub(crate) cancel: CancellationToken,
    pub(crate) purse: Arc<Purse>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) mailbox: Mailbox,
    waits: AtomicUsize,
    is_resting: AtomicBool,
    is_claimed: AtomicBool,
    started: Instant,
    report: watch::Sender<Option<Report>>,
}

impl Entry {
    pub(crate) fn new(
        identity: Arc<Identity>,
        delivery: Delivery,
        cancel: CancellationToken,
        purse: Arc<Purse>,
        clock: Arc<Clock>,
    ) -> Self {
        Self {
            identity,
            delivery,
            cancel,
            purse,
            clock,
            mailbox: Mailbox::default(),
            waits: AtomicUsize::new(0),
            is_resting: AtomicBool::new(false),
            is_claimed: AtomicBool::new(false),
            started: Instant::now(),
            report: watch::Sender::new(None),
        }
    }

    /// Waits for the agent's end.
    pub(crate) async fn ended(&self) -> Report {
        let mut report = self.report.subscribe();
        loop {
            if let Some(report) = &*report.borrow_and_update() {
                return report.clone();
            }
            // The sender is our own, so the wait cannot fail.
            let _ = report.changed().await;
        }
    }

    /// Notes the agent's end.
    pub(crate) fn finish(&self, report: Report) {
        self.report.send_replace(Some(report));
    }

    /// Claims the agent's result, and reports whether nobody had before.
    pub(crate) fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Relaxed)
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Relaxed)
    }

    /// Notes that the agent waits for others, for as long as the result lives.
    pub(crate) fn waits(&self) -> Waits<'_> {
        self.waits.fetch_add(1, Relaxed);
        Waits(self)
    }

    pub(crate) fn rest(&self, is_resting: bool) {
        self.is_resting.store(is_resting, Relaxed);
    }

    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn state(&self) -> State {
        if let Some(report) = &*self.report.borrow() {
            return report.outcome.ending.into();
        }
        if self.is_resting.load(Relaxed) {
            State::Resting
        } else if self.waits.load(Relaxed) > 0 {
            State::Waiting
        } else {
            State::Running
        }
    }

    pub(crate) fn status(&self) -> Status {
        let report = self.report.borrow().clone();
        let receipt = report.as_ref().map(|report| &*report.receipt);
        Status {
            id: self.identity.id,
            path: self.identity.path.clone(),
            state: self.state(),
            millis: receipt.map_or_else(|| self.millis(), |receipt| receipt.millis),
            tokens: receipt.map_or_else(|| self.purse.spending().tokens, |receipt| receipt.tokens),
            report,
        }
    }
}

/// An agent waits while this lives.
pub(crate) struct Waits<'a>(&'a Entry);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waits.fetch_sub(1, Relaxed);
    }
}

/// Every agent of the session, in the order they started.
#[derive(Default)]
pub(crate) struct Roster(Mutex<Names>);

#[derive(Default)]
struct Names {
    // Ids are made from the time, so this is the order of starting.
    entries: BTreeMap<AgentId, Arc<Entry>>,
    ids: HashMap<AgentPath, AgentId>,
    finished: VecDeque<AgentId>,
}

impl Roster {
    pub(crate) fn enter(&self, entry: Arc<Entry>) {
        let mut names = self.lock();
        names.ids.insert(entry.identity.path.clone(), entry.identity.id);
        names.entries.insert(entry.identity.id, entry);
    }

    /// Moves an agent to the finished ones and forgets the oldest of too many.
    pub(crate) fn retire(&self, id: AgentId) {
        let mut names = self.lock();
        names.finished.push_back(id);
        if names.finished.len() > FINISHED
            && let Some(oldest) = names.finished.pop_front()
            && let Some(entry) = names.entries.remove(&oldest)
        {
            names.ids.remove(&entry.identity.path);
        }
    }

    pub(crate) fn find(&self, path: &AgentPath) -> Option<Arc<Entry>> {
        let names = self.lock();
        names.ids.get(path).and_then(|id| names.entries.get(id)).cloned()
    }

    /// Finds an agent by its id or its path.
    pub(crate) fn find_named(&self, name: &str) -> Option<Arc<Entry>> {
        if let Ok(id) = name.parse::<AgentId>() {
            return self.lock().entries.get(&id).cloned();
        }
        self.find(&name.parse().ok()?)
    }

    /// Returns everyone below `top`.
    pub(crate) fn below(&self, top: &AgentPath) -> Vec<Arc<Entry>> {
        let names = self.lock();
        let below = names.entries.values().filter(|entry| entry.identity.path.is_below(top));
        below.cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
