//! Whole trees on record: every exchange with every model, kept in a file and played back.
//!
//! ```text
//!   agent ──▶ Recorder ──▶ model          agent ──▶ Player
//!                 │                                    ▲
//!                 ▼                                    │
//!             Cassette ──▶ file ──▶ Cassette ──────────┘
//! ```
//!
//! * [`Recorder`] stands before other models and notes what is asked and answered.
//! * [`Cassette`] is what was noted, as a file that people can read and compare.
//! * [`Player`] answers from a cassette. It goes by who asks and what is asked, never by the
//!   time; what was not asked in the recording it refuses, and shows the difference.
//! * [`Followed`] is a journal from which a recorder or a player learns how agents that work
//!   side by side get ahead of one another.
//!
//! On the way, marks are put in the place of what differs from run to run, such as ids and
//! times, and keys are [taken out](Redactor).

mod conversation;
mod difference;
mod file;
mod fold;
mod follow;
mod layout;
mod normal;
mod order;
mod player;
mod recorder;
mod redact;
mod request;
mod save;
mod track;

use adjutant_core::AgentPath;

pub use file::{BadCassette, Cassette};
pub use follow::{FollowSteps, Step, Steps};
pub use player::Player;
pub use recorder::Recorder;
pub use redact::Redactor;

/// Sorts paths as people do: `root.sub-2` before `root.sub-10`.
fn natural(path: &AgentPath) -> Vec<(String, u64)> {
    let part = |part: &str| match part.rsplit_once('-') {
        Some((name, number)) => (name.to_owned(), number.parse().unwrap_or(0)),
        None => (part.to_owned(), 0),
    };
    path.as_str().split('.').map(part).collect()
}
