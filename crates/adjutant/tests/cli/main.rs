//! The command, from the outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod command_line;
mod crash_loses_something;
mod exit_code_is_wrong;
mod layers;
mod output_is_mixed_up;
mod reader_goes_away;
mod refusals;
mod replies_left_over;
mod running;
mod scripts;
mod server;
mod server_misbehaves;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_is_a_mess;
