//! The undoing itself: one file after the other, each recorded before it is changed.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use adjutant_core::{AgentPath, CallId, Event, EventKind, FileState, Journal, Vault};
use adjutant_tools::restore::{Obstacle, Spot};
use uuid::Uuid;

use super::{
    plan::{Plan, Verdict, Wanted, is_directory},
    record::Record,
    trail::{REDO, State, UNDO},
};
use crate::{CliError, error::Kind};

/// An undoing.
pub(super) struct Work<'a, S> {
    store: &'a S,
    record: &'a Record,
    call: CallId,
}

/// What became of a file.
enum Became {
    /// What was planned.
    Planned,
    /// Nothing worth a word.
    Nothing,
    /// Something else, for this reason.
    Otherwise(String),
}

impl<'a, S: Journal + Vault> Work<'a, S> {
    pub(super) fn new(store: &'a S, record: &'a Record, wanted: &Wanted) -> Self {
        let is_undoing = matches!(wanted, Wanted::Call(_, call) if call.starts_with(UNDO));
        let prefix = if is_undoing { REDO } else { UNDO };
        // Of these names only the end is random.
        let id = Uuid::now_v7().simple().to_string();
        Self { store, record, call: format!("{prefix}{}", &id[id.len() - 8..]).into() }
    }

    /// Undoes, and returns what it is recorded as and what became of each file.
    pub(super) async fn run(
        self,
        mut plans: Vec<(String, Plan)>,
    ) -> Result<(CallId, Vec<(String, Plan)>), CliError> {
        plans.sort_by(|one, other| one.0.cmp(&other.0));
        // What goes makes room for what comes, and goes after what is in it.
        let (mut gone, others): (Vec<_>, Vec<_>) =
            plans.into_iter().partition(|(_, plan)| plan.verdict == Verdict::Removed);
        gone.reverse();
        let mut done = Vec::new();
        for (file, mut plan) in gone.into_iter().chain(others) {
            if !plan.is_conflict() && plan.verdict != Verdict::Left {
                match self.change(&file, &plan).await? {
                    Became::Planned => {}
                    Became::Nothing => continue,
                    Became::Otherwise(why) => plan = Plan::conflict(why, &plan.steps),
                }
            }
            done.push((file, plan));
        }
        done.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok((self.call, done))
    }

    async fn change(&self, file: &str, plan: &Plan) -> Result<Became, CliError> {
        let spot = match Spot::find(Path::new(file)) {
            Ok(spot) => spot,
            Err(error) => return Ok(Became::Otherwise(reason(Path::new(file), &error))),
        };
        let present = spot.state();
        if present != plan.present {
            return Ok(Became::Otherwise("changed just now".to_owned()));
        }
        if plan.empties_directory() {
            return self.remove_directory(file, spot).await;
        }
        if let Some(content) = spot.content() {
            self.store.keep(content).await?;
        }
        self.note(file, present, plan.to.clone()).await?;
        let changed = match (&plan.verdict, &plan.to) {
            (Verdict::Removed, _) => spot.remove(),
            (Verdict::Restored | Verdict::Recreated, Some(to)) => {
                spot.put(to, &self.content(to).await?)
            }
            _ => Ok(()),
        };
        let otherwise = |error| Became::Otherwise(reason(Path::new(file), &error));
        Ok(changed.map_or_else(otherwise, |()| Became::Planned))
    }

    /// Removes a directory if it is empty. Nothing is lost with it, so it is recorded afterwards.
    async fn remove_directory(&self, file: &str, spot: Spot) -> Result<Became, CliError> {
        let state = spot.state();
        match spot.remove() {
            Ok(()) => {
                self.note(file, state, None).await?;
                Ok(Became::Planned)
            }
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(Became::Nothing),
            Err(error) => Ok(Became::Otherwise(reason(Path::new(file), &error))),
        }
    }

    async fn content(&self, state: &FileState) -> Result<Arc<[u8]>, CliError> {
        if state.is_directory() {
            return Ok(Arc::default());
        }
        let lost =
            || CliError::new(Kind::Internal, format!("the content {} is lost", state.digest));
        self.store.fetch(&state.digest).await?.ok_or_else(lost)
    }

    async fn note(&self, file: &str, before: State, after: State) -> Result<(), CliError> {
        let Record { session, root, .. } = self.record;
        let id = root.ok_or_else(|| CliError::new(Kind::Internal, "the session has no root"))?;
        let (call_id, file) = (CallId::clone(&self.call), file.to_owned());
        let kind = EventKind::Changed { call_id, file, before, after };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let event = Event { seq: 0, at, path: AgentPath::root(), id, call: None, kind };
        self.store.append(*session, vec![event]).await?;
        Ok(())
    }
}

/// Says why nothing can be done at a path.
pub(super) fn reason(path: &Path, error: &io::Error) -> String {
    match (Obstacle::find(path), error.kind()) {
        (Some(obstacle), _) => obstacle.to_string(),
        (None, io::ErrorKind::DirectoryNotEmpty) => "is a directory with files in it".to_owned(),
        (None, _) => error.to_string(),
    }
}

impl Plan {
    fn empties_directory(&self) -> bool {
        self.verdict == Verdict::Removed && is_directory(&self.present)
    }
}
