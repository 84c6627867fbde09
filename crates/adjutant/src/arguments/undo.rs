//! What `undo` takes.

use adjutant_core::SessionId;
use clap::Args;

use super::PlaceArguments;

pub(super) const UNDO_HELP: &str = "\
Examples:
  adjutant undo                       all that the latest session here did
  adjutant undo root.fixer-1          what an agent and those below it did
  adjutant undo toolu_01 --dry-run    what one call did; the beginning of its name is enough
  adjutant undo undo-3f9c21aa         the undoing itself, as it was named

A file that somebody else changed later is a conflict, and then nothing is undone.

Exit codes:
    0  it is undone, or there was nothing to undo
    1  something is in conflict
    2  the command line or the configuration is wrong";

/// What `undo` takes.
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// Undo what this agent did, or this call; without it, all that the latest session did
    #[arg(value_name = "AGENT|CALL")]
    pub target: Option<String>,

    /// Look into this session only
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,

    /// Show what would be done
    #[arg(long)]
    pub dry_run: bool,

    /// Undo what can be undone when other files are in conflict
    #[arg(long, conflicts_with = "dry_run")]
    pub keep_going: bool,

    /// Write one JSON object
    #[arg(long)]
    pub json: bool,

    /// Where and how.
    #[command(flatten)]
    pub place: PlaceArguments,
}
