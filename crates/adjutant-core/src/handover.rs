//! What became of the changes an agent made where it worked alone.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most files that are named in words.
const MOST_NAMED: usize = 10;

/// The changes of an agent that worked alone. They are there whatever became of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The file with all of them, as `git apply` reads it; `None` if it could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The directory they are meant for.
    pub directory: String,
    /// The files that differ, from there.
    pub files: Vec<String>,
    /// What became of them.
    #[serde(flatten)]
    pub handed: Handed,
    /// What is not in the patch, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// What became of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "handed", rename_all = "snake_case")]
pub enum Handed {
    /// They were made.
    Applied,
    /// None was made, since some do not go together with what was changed meanwhile.
    Conflict {
        /// In which files.
        #[serde(rename = "conflicts")]
        files: Vec<String>,
        /// Where the agent worked; it is still there.
        worktree: String,
    },
    /// None was made.
    Kept {
        /// Why not.
        why: String,
        /// Where the agent worked; it is still there.
        worktree: String,
    },
}

impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { patch, directory, files, handed, left_out } = self;
        let (why, worktree, by_hand) = match handed {
            Handed::Applied => {
                write!(f, "its changes are made in {}", named(files))?;
                return left_out.iter().try_for_each(|left_out| write!(f, "; {left_out}"));
            }
            Handed::Conflict { files, worktree } => {
                let why = format!("{} changed meanwhile in the same places", named(files));
                (why, worktree, ("--reject ", "those that fit"))
            }
            Handed::Kept { why, worktree } => (why.clone(), worktree, ("", "them")),
        };
        write!(f, "none of its changes was made, since {why}; they are in `{worktree}`")?;
        if let (Some(patch), (how, which)) = (patch, by_hand) {
            write!(f, ", and `git apply {how}'{patch}'` in `{directory}` makes {which}")?;
        }
        left_out.iter().try_for_each(|left_out| write!(f, "; {left_out}"))
    }
}

/// Names files, but not too many.
fn named(files: &[String]) -> String {
    let mut named: Vec<_> =
        files.iter().take(MOST_NAMED).map(|file| format!("`{}`", file.escape_debug())).collect();
    if files.len() > MOST_NAMED {
        named.push(format!("{} more", files.len() - MOST_NAMED));
    }
    named.join(", ")
}
