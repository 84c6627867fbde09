//! How an agent ended, and the facts of it.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::{AgentPath, Clamp, Handover, Micros, Usage};

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It did its task.
    Completed,
    /// It spent all it had.
    BudgetExceeded,
    /// Its time was up.
    Timeout,
    /// It was stopped.
    Cancelled,
    /// It could not go on.
    Failed,
    /// The process died under it.
    Interrupted,
}

impl Ending {
    /// Reports whether what was found can be built on: all of it, or what there was when a
    /// budget was spent, which is no error.
    pub fn has_findings(self) -> bool {
        matches!(self, Self::Completed | Self::BudgetExceeded)
    }
}

/// Why an agent failed. Decides the exit code of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The model could not be reached or would not answer.
    Model,
    /// It needed a permission or an answer and nobody gave one.
    Unattended,
    /// It did the same thing over and over.
    Stuck,
    /// Its answer does not fit the schema it was given.
    Misfit,
    /// Something in the runtime broke.
    Internal,
}

/// What came of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its last words, or the JSON it was asked for; what there was of them if it did not
    /// complete.
    pub text: String,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl Outcome {
    /// Makes the outcome of a task that was done.
    pub fn completed(text: impl Into<String>) -> Self {
        Self { ending: Ending::Completed, text: text.into(), reason: None, cause: None }
    }

    /// Makes an outcome that is not what was hoped for.
    pub fn short(ending: Ending, text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { ending, text: text.into(), reason: Some(reason.into()), cause: None }
    }

    /// Makes the outcome of an agent that could not go on.
    pub fn failed(cause: Cause, text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { cause: Some(cause), ..Self::short(Ending::Failed, text, reason) }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Completed => "completed",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        })
    }
}

/// Something the runtime saw a call do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A file was read.
    Read {
        /// Which. A name that is not UTF-8 is written as well as it can be.
        path: String,
    },
    /// A file was written or removed.
    Modified {
        /// Which.
        path: String,
    },
    /// A command was run, or begun in the background.
    Ran {
        /// Which.
        command: String,
        /// Its exit code; `None` if a signal ended it, or nobody waited for its end.
        code: Option<i32>,
    },
    /// A file was handed back.
    Kept(Artifact),
    /// From here on nobody looks what commands do to files.
    Unwatched {
        /// Why not.
        why: String,
    },
}

/// A file that an agent hands back besides its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Where it is.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.path.escape_debug(), self.bytes)
    }
}

/// The facts of an agent's work, made by the runtime and never by the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Its own model calls.
    pub turns: u64,
    /// Its own tool calls.
    pub calls: u64,
    /// Its own tokens.
    pub usage: Usage,
    /// Tokens of the whole subtree.
    pub tokens: u64,
    /// Money of the whole subtree.
    pub micros: Micros,
    /// From start to end.
    pub millis: u64,
    /// Files it read.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub read: BTreeSet<String>,
    /// Files it changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub modified: BTreeSet<String>,
    /// Commands it ran, with their exit codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<(String, Option<i32>)>,
    /// Files it handed back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Children that did not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<AgentPath>,
    /// What it asked for and did not get in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clamped: Vec<Clamp>,
    /// What it started and could not be seen to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncontained: Vec<String>,
    /// How messages begin that it was sent and never heard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
    /// Hooks that failed and had no say.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failed_hooks: BTreeSet<String>,
    /// What became of its changes, if it had a worktree of its own and changed anything there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

impl Receipt {
    /// Adds what a call was seen to do.
    pub fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Read { path } => drop(self.read.insert(path.clone())),
            Fact::Modified { path } => drop(self.modified.insert(path.clone())),
            Fact::Ran { command, code } => self.commands.push((command.clone(), *code)),
            Fact::Kept(artifact) => {
                self.artifacts.retain(|earlier| earlier.path != artifact.path);
                self.artifacts.push(artifact.clone());
            }
            Fact::Unwatched { .. } => {}
        }
    }
}
