//! Attempts to get out: of the working directory, of the sandbox, of the rules.
//!
//! A scripted model does its worst in a world with something to lose, once as the root and once
//! as a child two levels down, as whoever runs the tests and, if that is the superuser, as an
//! ordinary user as well. What counts is the state of the world afterwards.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attempt;
mod delegation;
mod environment;
mod home;
mod links;
mod network;
mod new_repositories;
mod ordinary_work;
mod paths;
mod privileges;
mod processes;
mod replaced_files;
#[allow(dead_code, reason = "shared with another suite, which uses all of it")]
#[path = "../cli/running.rs"]
mod running;
#[cfg(feature = "mcp")]
mod servers;
mod shell_rules;
mod steering_files;
mod support;
#[allow(dead_code, reason = "shared with another suite, which uses all of it")]
#[path = "../cli/terminal.rs"]
mod terminal;
mod tool_output;
mod weak_sandbox;
mod witness;
