//! Lets a person's hooks run on the occasions of every agent's life.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use adjutant_core::{CallId, Held, HookedCall, Occasion, Outcome, Scene, ToolError, Touch};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{host::CallHost, seat::Seat};

/// The most failures of hooks that are remembered of one agent.
const MOST_FAILURES: usize = 32;

/// What is remembered of hooks that failed and had no say.
#[derive(Default)]
pub(crate) struct FailedHooks(Mutex<BTreeSet<String>>);

impl FailedHooks {
    pub(crate) fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, end: Result<(), String>) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Err(why), true) = (end, failures.len() < MOST_FAILURES) {
            failures.insert(why);
        }
    }
}

impl Seat {
    /// Lets hooks run before the first turn.
    pub(crate) async fn hook_start(&self, task: &str) {
        self.failed_hooks.note(self.hook(Occasion::Started { task }, &self.work).await);
    }

    /// Lets hooks run after the end, also if the agent was stopped.
    pub(crate) async fn hook_end(&self, outcome: &Outcome) {
        let end = self.hook(Occasion::Ended { outcome }, &CancellationToken::new()).await;
        self.failed_hooks.note(end);
    }

    async fn hook(&self, occasion: Occasion<'_>, token: &CancellationToken) -> Result<(), String> {
        let Some(hooks) = &self.shared.hooks else { return Ok(()) };
        let scene = Scene {
            session: self.shared.id,
            agent: self.path(),
            workdir: &self.workdir,
            scope: self.grant.whole_scope(),
            token,
            hold: &|held: Box<dyn Held>| self.custody.hold(held),
            occasion,
        };
        hooks.run(scene).await
    }
}

/// A call that hooks hear of.
pub(crate) struct Hooked {
    tool: String,
    arguments: Value,
    touches: Vec<Touch>,
}

impl Hooked {
    /// Makes a note of a call, if there are hooks to hear of it.
    pub(crate) fn new(host: &CallHost, tool: &str, arguments: &Value) -> Option<Self> {
        let Seat { shared, grant, .. } = &*host.seat;
        shared.hooks.as_ref().map(|_| Self {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            touches: grant.originals(&host.judged),
        })
    }
}

impl CallHost {
    /// Lets hooks refuse a call.
    pub(crate) async fn hook_before(&self, hooked: Option<&Hooked>) -> Result<(), ToolError> {
        let Some(hooked) = hooked else { return Ok(()) };
        let refused = |why| ToolError(format!("a hook refused this: {why}"));
        let occasion = Occasion::Calling(self.hooked(hooked));
        self.seat.hook(occasion, &self.seat.work).await.map_err(refused)
    }

    /// Lets hooks hear of the end of a call.
    pub(crate) async fn hook_after(
        &self,
        hooked: Option<&Hooked>,
        end: &Result<String, ToolError>,
    ) {
        let Some(hooked) = hooked else { return };
        let call = self.hooked(hooked);
        let (result, failed) = match end {
            Ok(text) => (text, false),
            Err(ToolError(why)) => (why, true),
        };
        let end = self.seat.hook(Occasion::Called { call, result, failed }, &self.seat.work).await;
        self.seat.failed_hooks.note(end);
    }

    fn hooked<'a>(&'a self, Hooked { tool, arguments, touches }: &'a Hooked) -> HookedCall<'a> {
        let id: &CallId = &self.call;
        HookedCall { id, tool, arguments, touches }
    }
}
