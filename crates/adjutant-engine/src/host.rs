//! What one running call sees of the runtime.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use adjutant_core::{
    AgentPath, Answer, Ask, CallId, Change, Comms, Delegation, EventKind, Fact, Grant, Held,
    History, Host, Image, JournalError, Notes, Order, Peers, Recorder, ToolError, Touch,
};
use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::seat::Seat;

/// One running call.
pub(crate) struct CallHost {
    pub(crate) seat: Arc<Seat>,
    pub(crate) call: CallId,
    /// What the agent knows, for a fork of it.
    pub(crate) history: History,
    /// What the call was judged by.
    pub(crate) judged: Vec<Touch>,
    facts: Mutex<Vec<Fact>>,
    images: Mutex<Vec<Image>>,
    slot: Mutex<Option<OwnedSemaphorePermit>>,
}

impl CallHost {
    pub(crate) fn new(seat: &Arc<Seat>, call: CallId, history: History) -> Self {
        let (seat, judged) = (Arc::clone(seat), Vec::new());
        let (facts, images, slot) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { seat, call, history, judged, facts, images, slot }
    }

    /// Waits for one of the tree's places for running calls.
    pub(crate) async fn take_slot(&self) {
        // The semaphore is never closed.
        let slot = Arc::clone(&self.seat.shared.ops).acquire_owned().await.ok();
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = slot;
    }

    /// Waits for others. A call that does so gives its place up for good, so that a tree
    /// of any depth runs on one; the little it does afterwards is not worth another.
    pub(crate) async fn waiting<T>(&self, others: impl Future<Output = T>) -> T {
        drop(self.slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _waits = self.seat.entry.waits();
        others.await
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        std::mem::take(&mut *self.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn images(&self) -> Vec<Image> {
        std::mem::take(&mut *self.images.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Host for CallHost {
    fn agent(&self) -> &AgentPath {
        self.seat.path()
    }

    fn call(&self) -> &CallId {
        &self.call
    }

    fn order(&self) -> &Order {
        &self.seat.order
    }

    fn workdir(&self) -> &Path {
        &self.seat.workdir
    }

    fn grant(&self) -> &Grant {
        &self.seat.grant
    }

    fn judged(&self) -> &[Touch] {
        &self.judged
    }

    fn token(&self) -> &CancellationToken {
        &self.seat.work
    }

    fn progress(&self, text: String) {
        self.seat.show(|| EventKind::Progressed { call_id: self.call.clone(), text });
    }

    fn note(&self, fact: Fact) {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).push(fact);
    }

    fn attach(&self, image: Image) {
        self.images.lock().unwrap_or_else(PoisonError::into_inner).push(image);
    }

    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(self.seat.changing(self.call.clone(), change))
    }

    fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::new(CallRecorder { seat: Arc::downgrade(&self.seat), call: self.call.clone() })
    }

    fn hold(&self, held: Box<dyn Held>) {
        self.seat.custody.hold(held);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async {
            let answer = self.waiting(self.seat.ask(&self.call, ask, None)).await;
            // A journal that fails stops the agent at its next record; until then nobody answers.
            answer.unwrap_or(Answer::Unattended)
        })
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        self.seat.grant.may_delegate().then_some(self)
    }

    fn comms(&self) -> Option<&dyn Comms> {
        (self.seat.order.peers != Peers::Nobody).then_some(self)
    }

    fn notes(&self) -> &dyn Notes {
        self
    }
}

/// Records in the name of a call. What has it may be in the agent's own custody.
struct CallRecorder {
    seat: Weak<Seat>,
    call: CallId,
}

impl Recorder for CallRecorder {
    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            let Some(seat) = self.seat.upgrade() else {
                return Err(ToolError("not recorded: the agent has finished".to_owned()));
            };
            seat.changing(self.call.clone(), change).await
        })
    }
}

impl Seat {
    async fn changing(&self, call_id: CallId, change: Change) -> Result<(), ToolError> {
        let Change { path: file, before, after } = change;
        if self.is_draft(&file) {
            return Ok(());
        }
        let before = match before {
            None => None,
            Some((state, content)) => {
                check_size(&file, content.len())?;
                self.shared.vault.keep(content).await.map_err(|error| unkept(&error))?;
                Some(state)
            }
        };
        let changed = EventKind::Changed { call_id, file, before, after };
        self.record(vec![changed]).await.map_err(|error| unkept(&error))
    }
}

fn check_size(file: &str, bytes: usize) -> Result<(), ToolError> {
    if bytes <= Change::LARGEST {
        return Ok(());
    }
    Err(ToolError(format!(
        "not changed: `{file}` has {bytes} bytes and is too large to be undone; the most is {}",
        Change::LARGEST
    )))
}

fn unkept(error: &JournalError) -> ToolError {
    ToolError(format!("not changed, since what is there could not be kept: {error}"))
}
