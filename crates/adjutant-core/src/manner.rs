//! How an agent is to work, apart from what it may do and spend.

use std::{num::NonZeroU64, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// How an agent is to work. What is not said is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manner {
    /// How freely its model chooses words. Zero is a wish like any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// From how much of what is likely it chooses them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<Number>,
    /// How much its model thinks before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The most tokens in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<NonZeroU64>,
    /// How its failed model calls are tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How the agents it calls in one turn are run.
    #[serde(skip_serializing_if = "Calls::are_together")]
    pub calls: Calls,
}

/// How much a model is to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// A little.
    Low,
    /// As much as most tasks need.
    Medium,
    /// As much as it can.
    High,
}

impl Effort {
    /// Every effort, with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("low", Self::Low), ("medium", Self::Medium), ("high", Self::High)];

    /// Returns its name, which is what providers call it too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// How failed model calls are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// How often a call is tried in all.
    pub attempts: u32,
    /// The pause after the first failure.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
    /// How pauses grow.
    #[serde(default)]
    pub backoff: Backoff,
}

impl Default for Retry {
    fn default() -> Self {
        let (base, cap) = (Duration::from_millis(500), Duration::from_secs(30));
        Self { attempts: 5, base, cap, backoff: Backoff::Exponential }
    }
}

/// How the pauses between tries grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// Each is twice as long as the one before.
    #[default]
    Exponential,
    /// Each is longer by the first.
    Linear,
    /// All are the same.
    Fixed,
}

/// How the agents that one turn calls are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calls {
    /// All at once.
    #[default]
    Together,
    /// One after another, in the order of the calls.
    OneByOne,
}

impl Calls {
    fn are_together(&self) -> bool {
        *self == Self::Together
    }
}
