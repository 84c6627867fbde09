//! Where a model's answers come from.
//!
//! * [`Catalogue`] finds a model by its full name.
//! * [`Scripted`] says what a [`script`] says: for tests, yours too.
//! * [`Rehearsal`] surveys a directory by a fixed routine that really delegates: for a
//!   first look without a key or a network.

mod brief;
pub mod catalogue;
mod check;
mod pattern;
pub mod rehearsal;
mod reply;
pub mod script;
pub mod scripted;
mod speech;

pub use catalogue::{Catalogue, Unused};
pub use rehearsal::{Pace, Rehearsal};
pub use scripted::{Scripted, Seen};
