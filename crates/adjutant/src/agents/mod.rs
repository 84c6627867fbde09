//! Named agents: an agent is a file.
//!
//! ```text
//! places ──search──▶ text ──format──▶ definition ──library──▶ order (a child) or lead (the root)
//!                                                      └─────▶ commands (`agents`) and check
//! ```
//!
//! A file is loaded, loaded with what is dropped of it, or refused, and each of these says so
//! with file and line ([`problem`]). Our own format is [`native`], those of other products are
//! [`foreign`]; what they all come to is a [`definition`]. Nothing in a file makes an agent freer
//! than whoever runs it.

mod agreed;
mod check;
mod commands;
mod definition;
mod doubts;
mod fields;
mod foreign;
mod format;
mod front_matter;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod idle_rules;
mod lead;
mod library;
mod name;
mod native;
mod order;
mod places;
mod problem;
mod prompt;
mod search;
mod skills;
mod text;
mod told;
mod variables;

pub use self::commands::agents;
pub(crate) use self::{
    agreed::Wanting,
    definition::{Definition, Input, Owner, Variable},
    lead::Lead,
    library::Library,
    order::{Agents, named_directories},
    prompt::BETWEEN,
    text::read as read_text,
    variables::Values,
};
