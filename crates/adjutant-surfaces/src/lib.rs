//! Front ends. Each reads one stream of events and sends commands.
//!
//! [`follow()`] is the one loop: it folds the events of a session, shows them to a
//! [`View`] and asks the [`Person`] who is there, if one is. The views are [`Live`]
//! for a terminal, [`Plain`] for a log, [`Jsonl`] for programs that watch and
//! [`Json`] for programs that wait for the end.

pub mod answer;
pub mod asking;
pub mod both;
mod branches;
mod columns;
mod figures;
pub mod follow;
mod frame;
pub mod jsonl;
mod keep;
pub mod live;
mod naming;
pub mod plain;
pub mod quiet;
mod reply;
pub mod result;
pub mod sanitize;
pub mod style;
pub mod terminal;
mod transcript;
pub mod view;

#[cfg(test)]
mod fixture;

pub use answer::{Output, Reader};
pub use asking::{Keyboard, Person};
pub use both::Both;
pub use follow::follow;
pub use jsonl::Jsonl;
pub use live::Live;
pub use plain::Plain;
pub use quiet::Quiet;
pub use result::Json;
pub use style::Style;
pub use terminal::{Size, forget_typed};
pub use view::{Ended, SurfaceError, View};
