//! The command, from the outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answer_does_not_fit;
mod bad_input;
mod cassette_differs;
mod command_line;
#[cfg(target_os = "linux")]
mod command_misbehaves;
mod connections_run_out;
mod crash_loses_something;
mod exit_code_is_wrong;
mod formats;
mod git_takes_too_much;
mod hook_does_not_run;
mod key_is_shown;
mod layers;
#[cfg(feature = "mcp")]
mod mcp_server_misbehaves;
mod model_is_missing;
mod model_is_not_allowed;
mod output_is_mixed_up;
mod page_is_out_of_bounds;
mod preset_is_wrong;
mod project_grants_itself;
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
mod undo_forgets;
mod undo_overwrites_something;
