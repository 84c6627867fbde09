//! The command, from the outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command_line;
mod layers;
mod refusals;
mod support;
