//! What a call says a child may spend.

use std::num::NonZeroU64;

use adjutant_core::{Allowance, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most a dollar amount may be before it is taken for a mistake.
const MOST_DOLLARS: f64 = 1e9;

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    /// Tokens in and out, its own sub-agents included.
    #[schemars(range(min = 1))]
    max_tokens: Option<u64>,
    /// Model calls.
    #[schemars(range(min = 1))]
    max_turns: Option<u64>,
    /// Tool calls.
    #[schemars(range(min = 1))]
    max_tool_calls: Option<u64>,
    /// Seconds from start to end.
    #[schemars(range(min = 1))]
    pub(super) max_seconds: Option<u64>,
    /// Dollars, its own sub-agents included.
    pub(super) max_usd: Option<f64>,
}

impl Budget {
    /// Returns what the call says.
    pub(super) fn asked(&self) -> Result<Allowance, ToolError> {
        let millis = self.max_seconds.map(|seconds| seconds.saturating_mul(1000));
        Ok(Allowance {
            tokens: positive("max_tokens", self.max_tokens)?,
            turns: positive("max_turns", self.max_turns)?,
            calls: positive("max_tool_calls", self.max_tool_calls)?,
            millis: positive("max_seconds", millis)?,
            micros: self.micros()?,
        })
    }

    fn micros(&self) -> Result<Option<NonZeroU64>, ToolError> {
        let Some(dollars) = self.max_usd else { return Ok(None) };
        if !(0.0..MOST_DOLLARS).contains(&dollars) {
            return Err(ToolError(format!("`budget.max_usd` is {dollars}: give dollars")));
        }
        positive("max_usd", Some((dollars * 1e6) as u64))
    }
}

fn positive(name: &str, amount: Option<u64>) -> Result<Option<NonZeroU64>, ToolError> {
    match amount.map(NonZeroU64::new) {
        Some(None) => Err(ToolError(format!("`budget.{name}` must be positive"))),
        Some(amount) => Ok(amount),
        None => Ok(None),
    }
}
