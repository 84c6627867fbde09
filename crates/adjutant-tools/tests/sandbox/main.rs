//! Commands that try to get out of the sandbox, and commands that only want to work.
//!
//! Every test here is run twice where that can be: as root and as an ordinary user.

#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![cfg(target_os = "linux")]

mod alone;
mod at_work;
mod devices_and_calls;
mod network;
mod odd_places;
mod ordinary_user;
mod processes;
mod repositories;
mod world;
mod writing;
