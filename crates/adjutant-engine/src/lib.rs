//! Runs trees of agents.
//!
//! Read in this order: `agent` is the loop, `turn` asks the model, `dispatch` runs
//! what the model called, `delegate` has the verbs for other agents, `start` and `life` put one to
//! work, and [`session`] is what a front end holds.

mod about;
mod agent;
mod answer;
mod breaker;
mod choice;
mod clock;
mod comms;
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
mod kit;
mod life;
mod looking;
mod mailbox;
mod memory;
mod notes;
mod notice;
mod pace;
mod places;
mod plan;
mod quote;
pub mod reader;
mod repair;
mod retry;
mod revival;
mod room;
mod roster;
pub mod schema;
mod seat;
pub mod session;
pub mod settings;
mod standing;
mod start;
mod stop;
mod summary;
mod toolset;
mod turn;
mod words;

pub use choice::usual_child_model;
pub use reader::{Events, Seen};
pub use schema::Schema;
pub use session::{Attendance, NotSent, Parts, Root, Session};
pub use settings::{
    Breaker, ChildInstructions, ChildQuestions, ChildrenAtEnd, Settings, Unattended,
};
