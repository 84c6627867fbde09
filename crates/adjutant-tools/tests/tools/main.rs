//! Every tool, called the way the runtime calls it.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[cfg(unix)]
mod artifact_is_lost;
mod asking;
#[cfg(target_os = "linux")]
mod command_gets_away;
#[cfg(unix)]
mod command_leaves_no_trace;
#[cfg(unix)]
mod edit_goes_wrong;
mod fetching;
mod files;
#[cfg(unix)]
mod ground;
#[cfg(unix)]
mod keeping;
#[cfg(unix)]
mod output_is_lost;
#[cfg(unix)]
mod path_escapes;
mod seat;
#[cfg(all(unix, feature = "mcp"))]
mod serving;
#[cfg(all(unix, feature = "mcp"))]
mod serving_http;
#[cfg(unix)]
mod skill_leads_astray;
mod specs;
#[cfg(unix)]
mod worktree;
#[cfg(unix)]
mod write_tramples;
