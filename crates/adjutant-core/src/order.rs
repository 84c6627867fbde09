//! One delegation, whatever tool asked for it.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Allowance, Manner, Wish};

/// A delegation. Every delegation tool makes one of these and nothing else; a
/// person's task for the root is one too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The child's name in its path.
    pub name: String,
    /// What to do.
    pub task: String,
    /// The named agent it is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the child knows besides.
    #[serde(default)]
    pub context: Context,
    /// Another provider than the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Another model than the parent's: its full name, or its name at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Another system prompt than the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The JSON Schema its answer has to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<Value>>,
    /// What the child goes without.
    #[serde(default)]
    pub limits: Limits,
    /// How the parent learns of the end.
    #[serde(default)]
    pub delivery: Delivery,
    /// Where the child works.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub isolation: Isolation,
    /// When the child leaves.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub stay: Stay,
    /// Whom it may write to.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub peers: Peers,
    /// Another directory than its parent's, absolute, and inside what its parent may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<PathBuf>,
    /// How it is to work.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub manner: Manner,
    /// The nearest agent above it that has a name. The runtime says so, whoever orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Its number among its siblings, if that was [reserved](crate::Delegation::reserve).
    #[serde(skip)]
    pub number: Option<u32>,
}

impl Order {
    /// Returns the named agent it is, or works for.
    pub fn named(&self) -> Option<&str> {
        self.agent.as_deref().or(self.within.as_deref())
    }
}

/// What a child goes without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// In what it may do.
    #[serde(default)]
    pub authority: Wish,
    /// In what it may spend.
    #[serde(default)]
    pub allowance: Allowance,
    /// What of that somebody asked for. The rest is only usual, and nobody has to be told that
    /// there was less.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub asked: Allowance,
    /// How many tokens that is, if it is for the parent's purse to say.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub share: Share,
}

/// How many of its parent's tokens a child may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// As many as its allowance says.
    #[default]
    Given,
    /// All that are left.
    Remaining,
    /// What is left, divided by those who draw on it: the parent, its children at work and
    /// this one.
    Proportional,
}

/// What a child knows when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// Its task.
    #[default]
    Fresh,
    /// Its task, with the end of its parent's conversation quoted.
    Quote {
        /// How many messages of it.
        last: NonZeroUsize,
    },
    /// All its parent knows, and its task.
    Fork,
    /// The end of its parent's conversation, and its task.
    Cut {
        /// How many messages of it, or a few more, so that no call loses its result.
        last: NonZeroUsize,
    },
    /// A summary of all its parent knows, and its task.
    Summary,
    /// What it knew itself when it ended, and its task.
    Own,
}

/// How a parent learns that a child ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The call that started it waits for it.
    #[default]
    Awaited,
    /// It is told, at its next turn boundary.
    Pushed,
}

/// Where a child works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Where its parent does.
    #[default]
    Shared,
    /// In a git worktree of its own, which stands for where its parent works. What it changed is
    /// handed over when it has completed.
    Worktree,
}

/// When an agent leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stay {
    /// When its task is done.
    #[default]
    UntilDone,
    /// When it is told to; between tasks it rests.
    UntilTold,
}

/// Whom an agent may write to, besides those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peers {
    /// Nobody.
    #[default]
    Nobody,
    /// Its parent.
    Parent,
    /// Its parent, and those of its siblings that may write to it.
    Family,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
