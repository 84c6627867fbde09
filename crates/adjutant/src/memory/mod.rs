//! What named agents remember from run to run.
//!
//! ```text
//! journal ──▶ keeping ──record──▶ book (one agent's file) ──▶ recall ──▶ prompt
//! ```
//!
//! [`shelf`] tells where the book of an agent is; [`command`] is `adjutant memory`.

mod book;
mod command;
mod keeping;
mod recall;
mod record;
mod shelf;

pub use command::memory;
pub(crate) use keeping::Keeping;
pub(crate) use recall::recall;
pub(crate) use shelf::{Shelf, Tape, within};
