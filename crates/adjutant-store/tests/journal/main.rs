//! What can go wrong with a journal in a file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod crash;
mod file;

use std::{path::Path, sync::Arc};

use adjutant_core::{AgentId, AgentPath, Bus, Event, EventKind, Journal, SessionId};
use adjutant_store::{Durability, LocalBus, SqliteJournal};
use uuid::Uuid;

fn session(number: u128) -> SessionId {
    Uuid::from_u128(number).into()
}

fn rested() -> Event {
    let id = AgentId::from(Uuid::from_u128(1));
    Event { seq: 0, at: 0, path: AgentPath::root(), id, call: None, kind: EventKind::Rested }
}

fn open(path: &Path) -> SqliteJournal {
    open_on(path, Arc::new(LocalBus::default()))
}

fn open_on(path: &Path, bus: Arc<dyn Bus>) -> SqliteJournal {
    SqliteJournal::new(path, Durability::Process, bus)
}

async fn positions(journal: &SqliteJournal, session: SessionId) -> Vec<u64> {
    let events = journal.read(session, 0, usize::MAX).await.unwrap();
    events.iter().map(|event| event.seq).collect()
}
