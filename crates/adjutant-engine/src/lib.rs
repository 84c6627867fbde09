//! Runs trees of agents.
//!
//! Read in this order: `agent` is the loop, `turn` asks the model, `dispatch` runs
//! what the model called, `delegate` starts one agent below another, and
//! [`session`] is what a front end holds.

pub mod reader;
pub mod session;
pub mod settings;

pub use reader::{Events, Seen};
pub use session::{Attendance, NotSent, Parts, Root, Session, Stay};
pub use settings::{Retry, Settings, Unattended};
