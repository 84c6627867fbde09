//! Where a model's answers come from.
//!
//! * [`Catalogue`] finds a model by its full name.
//! * [`Served`] asks a server, in whatever dialect it speaks; [`provider`] has those that
//!   are known, [`Providers`] how they are set up, [`Figures`] what their models can do and
//!   cost.
//! * [`Scripted`] says what a [`script`] says: for tests, yours too.
//! * [`Rehearsal`] surveys a directory by a fixed routine that really delegates: for a
//!   first look without a key or a network.
//! * A [`cassette`] keeps what models said to a whole tree and plays it back.

mod base_url;
mod brief;
pub mod cassette;
pub mod catalogue;
mod check;
mod effort;
mod figures;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod heads;
mod http;
mod key;
mod local;
mod pattern;
pub mod provider;
pub mod rehearsal;
mod reply;
pub mod script;
pub mod scripted;
mod served;
mod settings;
mod setup;
mod speech;
pub mod sse;
mod variables;
mod wire;

pub use base_url::BaseUrl;
pub use catalogue::{Catalogue, Unused};
pub use figures::{Facts, Figures};
pub use key::{Key, KeyCommand, KeySource};
pub use local::{Running, running};
pub use provider::{PROVIDERS, Place, Provider};
pub use rehearsal::{Pace, Rehearsal};
pub use scripted::{Scripted, Seen};
pub use served::Served;
pub use settings::{Format, Headers, ProviderSettings, Proxy};
pub use setup::{Providers, Setup, Unfit};
pub use variables::Variables;
