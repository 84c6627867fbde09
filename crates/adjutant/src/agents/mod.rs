//! Named agents: an agent is a file.
//!
//! ```text
//! places ──files──▶ text ──format──▶ definition ──library──▶ order (a child) or lead (the root)
//! ```
//!
//! A file is loaded, loaded with what is dropped of it, or refused, and each of these says so
//! with file and line ([`problem`]). Formats are one file each; what they all come to is a
//! [`definition`]. Nothing in a file makes an agent freer than whoever runs it.

mod claude;
mod codex;
mod definition;
mod fields;
mod format;
mod lead;
mod library;
mod native;
mod opencode;
mod order;
mod places;
mod problem;
mod prompt;
mod text;

pub(crate) use self::{lead::Lead, order::Agents};
