//! Trees of agents, as a library and a command.
//!
//! Programs use [`Adjutant`]. The words are [`core`]'s, the behaviour is [`engine`]'s, and tests
//! have a model that says what a [`script`] says. The rest is the command: [`arguments`],
//! [`config`] and what [`run`] makes of them.

mod agents;
mod agreement;
pub mod arguments;
mod artifacts;
mod assembled;
mod assembly;
mod authority;
mod awaited;
mod builder;
mod cast;
mod child_model;
pub mod choice;
pub mod config;
#[cfg(unix)]
pub mod confining;
mod dry_run;
mod embedded;
pub mod error;
pub mod exit;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod git;
mod guidance;
mod hooks;
#[cfg(unix)]
pub mod keeping;
mod lineage;
mod memory;
pub mod models;
mod nearest;
mod open_files;
mod output_schema;
mod parameters;
mod permissions;
mod person;
pub mod place;
pub mod prepared;
mod presets;
mod programs;
pub mod prompt;
mod rulebook;
pub mod run;
mod running;
mod screen;
mod secrets;
#[cfg(feature = "mcp")]
mod servers;
mod source;
mod surroundings;
mod trust;
mod undo;
mod whole_file;

pub use adjutant_core as core;
pub use adjutant_engine as engine;
pub use adjutant_models::{Catalogue, Pace, Scripted, script};
pub use adjutant_tools::typed::{TypedTool, erase};
pub use {futures_util, schemars, serde, serde_json};

pub use agents::agents;
pub use builder::{Adjutant, Builder};
pub use embedded::{Finished, Session};
pub use error::CliError;
pub use exit::ExitCode;
pub use memory::memory;
pub use permissions::permissions;
pub use presets::presets;
pub use surroundings::Surroundings;
pub use trust::trust;
pub use undo::undo;

/// The code in `docs/embedding.md`, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingDocument;
