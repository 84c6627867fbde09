//! The command, from the outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answer_does_not_fit;
mod bad_input;
mod cassette_differs;
mod command_line;
mod connections_run_out;
mod crash_loses_something;
mod exit_code_is_wrong;
mod formats;
mod key_is_shown;
mod layers;
mod model_is_missing;
mod model_is_not_allowed;
mod output_is_mixed_up;
mod provider_is_set_up;
mod provider_is_set_up_wrong;
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
