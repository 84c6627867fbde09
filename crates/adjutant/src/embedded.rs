//! A tree of agents at work for another program.

use std::ops::Deref;

use adjutant_core::{AgentPath, Command, Detail, Event, EventKind, Report};
use adjutant_engine::{self as engine, Seen};
use futures_util::StreamExt as _;
use tokio::runtime::Handle;

use crate::{
    CliError,
    assembled::{Assembled, Held},
    error::Kind,
};

/// A tree of agents at work. It can do what [`engine::Session`] can: `events`, `send`, `attend`.
/// When it is dropped, the tree is stopped.
pub struct Session {
    lifeline: Lifeline,
    held: Held,
    warnings: Vec<String>,
}

/// What came of a tree.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How the root ended.
    pub report: Report,
    /// What a person should know besides.
    pub warnings: Vec<String>,
}

impl Session {
    pub(crate) async fn begin(
        assembled: Assembled<'_>,
        doubts: impl IntoIterator<Item = String>,
    ) -> Result<Self, CliError> {
        let warnings = assembled.warnings.iter().cloned().chain(doubts).collect();
        let lifeline = Lifeline(assembled.session.clone());
        Ok(Self { held: assembled.begin().await?, lifeline, warnings })
    }

    /// Waits until the root is gone, and with it everything it started.
    pub async fn finish(self) -> Result<Finished, CliError> {
        let Self { lifeline, held, mut warnings } = self;
        let ended = report(&lifeline.0).await;
        let ending = ended.as_ref().ok().map(|report| report.outcome.ending);
        warnings.extend(held.let_go(&lifeline.0, ending).await);
        Ok(Finished { report: ended?, warnings })
    }
}

impl Deref for Session {
    type Target = engine::Session;

    fn deref(&self) -> &engine::Session {
        &self.lifeline.0
    }
}

/// Finds how the root ended where all is kept.
async fn report(session: &engine::Session) -> Result<Report, CliError> {
    let mut events = session.events_in(Detail::Kept, 0);
    while let Some(seen) = events.next().await {
        let seen = seen.map_err(|error| CliError::new(Kind::Internal, error.to_string()))?;
        let Seen::Event(event) = seen else { continue };
        let Event { id, path, kind, .. } = &*event;
        let EventKind::Finished { outcome, receipt } = kind else { continue };
        if *path == AgentPath::root() {
            let (outcome, receipt) = (outcome.clone(), receipt.clone());
            return Ok(Report { id: *id, path: path.clone(), outcome, receipt });
        }
    }
    Err(CliError::new(Kind::Internal, "the root went without an end"))
}

/// Stops the tree when it is dropped.
struct Lifeline(engine::Session);

impl Drop for Lifeline {
    fn drop(&mut self) {
        // Without a runtime there is no tree any more.
        let Ok(runtime) = Handle::try_current() else { return };
        let session = self.0.clone();
        // A root that has ended needs no telling.
        drop(runtime.spawn(async move { session.send(&AgentPath::root(), Command::Cancel).await }));
    }
}
