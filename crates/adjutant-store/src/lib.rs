//! What remembers and what moves: journals, vaults and buses.
//!
//! A journal numbers events, commits them, publishes them on its bus and only then
//! acknowledges, so whatever anyone has seen is there after a crash.
//!
//! * Journals: [`SqliteJournal`] in a file, [`MemoryJournal`] for as long as the
//!   process lives.
//! * Vaults: [`SqliteJournal`] in the same file, [`MemoryVault`].
//! * Buses: [`LocalBus`] inside one process.
//! * `conformance`: what every other implementation must pass too (feature
//!   `conformance`).

mod batch;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(debug_assertions)]
mod failpoint;
mod local;
mod memory;
mod sqlite;
mod vault;
mod worker;

pub use local::LocalBus;
pub use memory::MemoryJournal;
pub use sqlite::{Durability, SqliteJournal};
pub use vault::MemoryVault;
