//! Trees of agents, as a library and a command.
//!
//! The words are [`core`]'s and the behaviour is [`engine`]'s. The rest is the command:
//! [`arguments`], [`config`] and what [`run`] makes of them.

pub mod arguments;
pub mod choice;
pub mod config;
pub mod error;
pub mod exit;
pub mod models;
mod nearest;
mod open_files;
mod output_schema;
mod person;
pub mod place;
pub mod prepared;
pub mod prompt;
pub mod run;
mod source;
mod surroundings;

pub use adjutant_core as core;
pub use adjutant_engine as engine;

pub use error::CliError;
pub use exit::ExitCode;
pub use surroundings::Surroundings;
