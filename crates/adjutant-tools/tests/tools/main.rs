//! Every tool, called the way the runtime calls it.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod asking;
mod delegating;
mod files;
#[cfg(unix)]
mod keeping;
mod seat;
mod specs;
