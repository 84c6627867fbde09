//! One delegation, whatever tool asked for it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Allowance, Wish};

/// A delegation. Every delegation tool makes one of these and nothing else; a
/// person's task for the root is one too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The child's name in its path.
    pub name: String,
    /// What to do.
    pub task: String,
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
    #[serde(default, skip_serializing_if = "Isolation::is_shared")]
    pub isolation: Isolation,
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
}

/// What a child knows when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Context {
    /// Its task.
    #[default]
    Fresh,
    /// All its parent knows, and its task.
    Fork,
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

impl Isolation {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_shared(&self) -> bool {
        *self == Self::Shared
    }
}
