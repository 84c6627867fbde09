//! How much an agent may spend, and the news that it is spent.

use std::{fmt, num::NonZeroU64, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{AgentPath, Micros};

/// The most a subtree may spend. What is not given is not limited here, though
/// it may be further up. Zero cannot be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowance {
    /// Tokens in and out, of the agent and everyone below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<NonZeroU64>,
    /// Money, of the agent and everyone below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<NonZeroU64>,
    /// Milliseconds from start to end, waiting for a person aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub millis: Option<NonZeroU64>,
    /// The agent's own model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<NonZeroU64>,
    /// The agent's own tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<NonZeroU64>,
}

impl Allowance {
    /// Returns the time from start to end.
    pub fn time(&self) -> Option<Duration> {
        self.millis.map(|millis| Duration::from_millis(millis.get()))
    }

    /// Returns the least of two in everything.
    #[must_use]
    pub fn capped(self, most: Option<Self>) -> Self {
        let Some(most) = most else { return self };
        let least = |one: Option<NonZeroU64>, other| one.into_iter().chain(other).min();
        Self {
            tokens: least(self.tokens, most.tokens),
            micros: least(self.micros, most.micros),
            millis: least(self.millis, most.millis),
            turns: least(self.turns, most.turns),
            calls: least(self.calls, most.calls),
        }
    }

    /// Takes from another what is not given here.
    #[must_use]
    pub fn or(self, usual: Self) -> Self {
        Self {
            tokens: self.tokens.or(usual.tokens),
            micros: self.micros.or(usual.micros),
            millis: self.millis.or(usual.millis),
            turns: self.turns.or(usual.turns),
            calls: self.calls.or(usual.calls),
        }
    }
}

/// What can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Model calls.
    Turns,
    /// Tool calls.
    Calls,
}

/// An allowance does not cover what was wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Exhausted {
    /// What ran out.
    pub measure: Measure,
    /// How much there was.
    pub limit: u64,
    /// How much of it is spent.
    pub spent: u64,
    /// Whose allowance it was.
    pub agent: AgentPath,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, limit, spent, agent } = self;
        let is_gone = spent >= limit;
        let (limit, spent, noun) = match measure {
            Measure::Tokens => (limit.to_string(), spent.to_string(), "tokens"),
            Measure::Money => (dollars(*limit), dollars(*spent), "dollars"),
            Measure::Turns => (limit.to_string(), spent.to_string(), "turns"),
            Measure::Calls => (limit.to_string(), spent.to_string(), "tool calls"),
        };
        if is_gone {
            return write!(f, "`{agent}` has used its {limit} {noun}");
        }
        write!(
            f,
            "`{agent}` has used {spent} of its {limit} {noun}, and the rest does not cover more"
        )
    }
}

fn dollars(micros: Micros) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
