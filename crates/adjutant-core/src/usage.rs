//! What a model call used and what it costs.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Millionths of a dollar.
pub type Micros = u64;

/// The tokens of one or more model calls, as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// All tokens read, those from and into the cache included.
    pub input: u64,
    /// All tokens written, reasoning included.
    pub output: u64,
    /// Of the input, those read from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Of the input, those written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Of the output, those spent on reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Returns input and output together: what a token budget counts.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// What a model charges, in millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// For tokens read.
    pub input: Micros,
    /// For tokens written.
    pub output: Micros,
    /// For tokens read from the cache.
    #[serde(default)]
    pub cache_read: Micros,
    /// For tokens written to the cache.
    #[serde(default)]
    pub cache_write: Micros,
}

impl Price {
    /// Returns what a call costs, rounded up.
    pub fn cost(self, usage: Usage) -> Micros {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let fresh = usage.input.saturating_sub(cached);
        let each = [
            (fresh, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        let total: u128 = each.iter().map(|(count, price)| product(*count, *price)).sum();
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns how many tokens can be written for `money`.
    pub fn affordable_output(self, money: Micros) -> u64 {
        if self.output == 0 {
            return u64::MAX;
        }
        let count = product(money, 1_000_000) / u128::from(self.output);
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

fn product(left: u64, right: u64) -> u128 {
    u128::from(left) * u128::from(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_not_charged_twice() {
        let price =
            Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 0 };
        let usage = Usage { input: 1000, output: 100, cache_read: 900, ..Usage::default() };
        assert_eq!(price.cost(usage), 300 + 270 + 1500);
    }
}
