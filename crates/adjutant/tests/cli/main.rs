//! The command, from the outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_file_is_wrong;
mod agent_grants_itself;
mod agent_is_freer_than_written;
mod agent_is_run_otherwise;
mod agents_md_is_not_told;
mod answer_does_not_fit;
mod artifact_is_lost;
mod bad_input;
mod cassette_differs;
mod command_line;
#[cfg(target_os = "linux")]
mod command_misbehaves;
mod connections_run_out;
mod context_file_tells_too_much;
mod crash_loses_something;
mod dry_run_differs;
mod example_agent_rots;
mod exit_code_is_wrong;
mod foreign_file_is_misread;
mod formats;
mod git_takes_too_much;
mod hook_does_not_run;
mod key_is_shown;
mod layers;
#[cfg(feature = "mcp")]
mod mcp_server_misbehaves;
mod memory_is_wrong;
mod model_flag_is_passed_over;
mod model_is_missing;
mod model_is_not_allowed;
mod output_is_mixed_up;
mod page_is_out_of_bounds;
mod pipeline_breaks;
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
mod skill_is_missing;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_is_a_mess;
mod terminal_obeys_a_file;
mod told;
mod undo_forgets;
mod undo_overwrites_something;
