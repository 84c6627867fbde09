//! Runs trees of agents.
//!
//! Read in this order: `agent` is the loop, `turn` asks the model, `dispatch` runs
//! what the model called, `delegate` starts one agent below another, and
//! [`session`] is what a front end holds.

mod about;
mod agent;
mod answer;
mod choice;
mod clock;
mod custody;
mod delegate;
mod desk;
mod dispatch;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod gauge;
mod ground;
mod habit;
mod hooks;
mod host;
mod mailbox;
mod notice;
mod pace;
pub mod reader;
mod repair;
mod retry;
mod roster;
pub mod schema;
mod seat;
pub mod session;
pub mod settings;
mod standing;
mod stop;
mod toolset;
mod turn;

pub use reader::{Events, Seen};
pub use schema::Schema;
pub use session::{Attendance, NotSent, Parts, Root, Session, Stay};
pub use settings::{ChildQuestions, Retry, Settings, Unattended};
