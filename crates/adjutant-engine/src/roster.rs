//! Who is, and was, in the tree.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use adjutant_core::{
    AgentId, AgentPath, Delivery, History, Isolation, Order, Peers, Purse, Refusal, Report, State,
    Status,
};
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    kit::Kit,
    mailbox::Mailbox,
    places::Places,
    seat::{Identity, Seat},
    session::Shared,
    words::Words,
};

/// How many finished agents are remembered; the journal has all.
const FINISHED: usize = 256;

/// What others can know of an agent, and do to it.
pub(crate) struct Entry {
    pub(crate) identity: Arc<Identity>,
    pub(crate) delivery: Delivery,
    pub(crate) peers: Peers,
    pub(crate) isolation: Isolation,
    /// Cancelled when the agent is told to stop. What it does hangs below, by way of
    /// its seat's `work`, which also ends when its time is up.
    pub(crate) cancel: CancellationToken,
    pub(crate) purse: Arc<Purse>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) mailbox: Mailbox,
    pub(crate) words: Words,
    waits: AtomicUsize,
    is_resting: AtomicBool,
    is_dismissed: AtomicBool,
    is_claimed: AtomicBool,
    /// Where its place among its parent's children comes from.
    family: Option<Arc<Semaphore>>,
    /// What was found for it while it rested.
    places: Mutex<Option<Places>>,
    started: Instant,
    report: watch::Sender<Option<Report>>,
}

impl Entry {
    pub(crate) fn new(
        identity: Arc<Identity>,
        order: &Order,
        cancel: CancellationToken,
        purse: Arc<Purse>,
        clock: Arc<Clock>,
    ) -> Self {
        Self {
            identity,
            delivery: order.delivery,
            peers: order.peers,
            isolation: order.isolation,
            cancel,
            purse,
            clock,
            mailbox: Mailbox::default(),
            words: Words::default(),
            waits: AtomicUsize::new(0),
            is_resting: AtomicBool::new(false),
            is_dismissed: AtomicBool::new(false),
            is_claimed: AtomicBool::new(false),
            family: None,
            places: Mutex::default(),
            started: Instant::now(),
            report: watch::Sender::new(None),
        }
    }

    pub(crate) fn with_places_in(self, family: Option<Arc<Semaphore>>) -> Self {
        Self { family, ..self }
    }

    /// Finds places for an agent that is about to be woken, if there are any left.
    pub(crate) fn find_places(&self, shared: &Shared) -> Result<Option<Places>, Refusal> {
        let is_placed = self.held_places().is_some();
        let family = self.family.as_ref().filter(|_| self.is_resting() && !is_placed);
        family.map(|family| Places::take(shared, family)).transpose()
    }

    /// Gives an agent that rests what was found for it.
    pub(crate) fn give_places(&self, places: Option<Places>) {
        if places.is_some() && self.is_resting() {
            *self.held_places() = places;
        }
    }

    /// Returns the places that were found for the agent, or waits for some: what it hears from
    /// the runtime nobody found a place for.
    pub(crate) async fn places(&self, shared: &Shared) -> Places {
        let found = self.held_places().take();
        match (found, &self.family) {
            (Some(places), _) => places,
            (None, Some(family)) => Places::wait(shared, family).await,
            (None, None) => Places::default(),
        }
    }

    fn held_places(&self) -> MutexGuard<'_, Option<Places>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Waits until the agent has nothing more to do: it has ended, or it rests and has heard what
    /// was said to it.
    pub(crate) async fn settled(&self) {
        let mut report = self.report.subscribe();
        loop {
            let has_ended = report.borrow_and_update().is_some();
            if has_ended || self.is_idle() {
                return;
            }
            // The sender is our own, so the wait cannot fail.
            let _ = report.changed().await;
        }
    }

    /// Reports whether the agent rests and has heard what was said to it.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_resting() && !self.mailbox.has_message()
    }

    /// Notes the agent's end.
    pub(crate) fn finish(&self, report: Report) {
        drop(self.held_places().take());
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
        // What somebody found too late is not kept.
        drop(self.held_places().take());
        self.is_resting.store(is_resting, Relaxed);
        // Those who wait for it look again.
        self.report.send_modify(|_| ());
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.is_resting.load(Relaxed)
    }

    /// Lets an agent that rests go: its work is done.
    pub(crate) fn dismiss(&self) {
        if self.is_idle() {
            self.is_dismissed.store(true, Relaxed);
        }
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.is_dismissed.load(Relaxed)
    }

    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn state(&self) -> State {
        if let Some(report) = &*self.report.borrow() {
            return report.outcome.ending.into();
        }
        if self.is_idle() {
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
            words: self.words.latest(),
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

/// What is left of an agent that has ended, for it to go on with.
pub(crate) struct Remains {
    pub(crate) order: Arc<Order>,
    pub(crate) kit: Kit,
    /// How many children it has had: no two have the same path.
    pub(crate) born: u32,
    pub(crate) history: History,
}

impl Remains {
    pub(crate) fn of(seat: &Seat, history: History) -> Self {
        let (order, kit, born) = (Arc::clone(&seat.order), Kit::of(seat), seat.family.born());
        Self { order, kit, born, history }
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
    finished: VecDeque<(AgentId, Remains)>,
    has_forgotten: bool,
}

impl Roster {
    pub(crate) fn enter(&self, entry: Arc<Entry>) {
        let mut names = self.lock();
        names.ids.insert(entry.identity.path.clone(), entry.identity.id);
        names.entries.insert(entry.identity.id, entry);
    }

    /// Moves an agent to the finished ones and forgets the oldest of too many.
    pub(crate) fn retire(&self, id: AgentId, remains: Remains) {
        let mut names = self.lock();
        names.finished.push_back((id, remains));
        if names.finished.len() > FINISHED
            && let Some((oldest, _)) = names.finished.pop_front()
            && let Some(entry) = names.entries.remove(&oldest)
        {
            names.ids.remove(&entry.identity.path);
            names.has_forgotten = true;
        }
    }

    /// Reports whether there were agents that are no longer remembered.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.lock().has_forgotten
    }

    /// Takes what is left of an agent that has ended. Whoever has it has to make it go on.
    pub(crate) fn take_remains(&self, id: AgentId) -> Option<Remains> {
        let finished = &mut self.lock().finished;
        let place = finished.iter().position(|(other, _)| *other == id)?;
        finished.remove(place).map(|(_, remains)| remains)
    }

    /// Returns what an agent that has ended knew.
    pub(crate) fn history(&self, id: AgentId) -> Option<History> {
        let names = self.lock();
        let (_, remains) = names.finished.iter().find(|(other, _)| *other == id)?;
        Some(remains.history.clone())
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
