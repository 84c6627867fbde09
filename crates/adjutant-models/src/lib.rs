//! Where a model's answers come from.
//!
//! * [`Catalogue`] finds a model by its full name.
//! * [`Served`] asks a server, in whatever dialect it speaks; [`provider`] has those that
//!   are known.
//! * [`Scripted`] says what a [`script`] says: for tests, yours too.
//! * [`Rehearsal`] surveys a directory by a fixed routine that really delegates: for a
//!   first look without a key or a network.

mod brief;
pub mod catalogue;
mod check;
mod effort;
pub mod http;
mod pattern;
pub mod provider;
pub mod rehearsal;
mod reply;
pub mod script;
pub mod scripted;
mod served;
mod speech;
pub mod sse;
pub mod variables;
mod wire;

pub use catalogue::{Catalogue, Unused};
pub use effort::Effort;
pub use http::{Http, Key};
pub use provider::{PROVIDERS, Provider};
pub use rehearsal::{Pace, Rehearsal};
pub use scripted::{Scripted, Seen};
pub use served::Served;
pub use variables::Variables;
