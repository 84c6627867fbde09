//! Trees of agents, as a library and a command.
//!
//! The words are [`core`]'s and the behaviour is [`engine`]'s. The rest is the command:
//! [`arguments`], [`config`] and what [`run`] makes of them.

mod agreement;
pub mod arguments;
mod assembly;
mod authority;
pub mod choice;
pub mod config;
#[cfg(unix)]
pub mod confining;
pub mod error;
pub mod exit;
mod git;
mod hooks;
#[cfg(unix)]
pub mod keeping;
pub mod models;
mod nearest;
mod open_files;
mod output_schema;
mod permissions;
mod person;
pub mod place;
pub mod prepared;
mod programs;
pub mod prompt;
mod rulebook;
pub mod run;
mod running;
mod screen;
#[cfg(feature = "mcp")]
mod servers;
mod source;
mod surroundings;
mod trust;
mod undo;
mod whole_file;

pub use adjutant_core as core;
pub use adjutant_engine as engine;

pub use error::CliError;
pub use exit::ExitCode;
pub use permissions::permissions;
pub use surroundings::Surroundings;
pub use trust::trust;
pub use undo::undo;
