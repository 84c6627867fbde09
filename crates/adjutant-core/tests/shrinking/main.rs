//! Authority and money only shrink on the way down, whatever is asked for.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod authority_widens;
mod budget_overspent;
