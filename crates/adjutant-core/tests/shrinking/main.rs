//! Authority and money only shrink on the way down, whatever is asked for, and events add
//! up to the tree they tell of.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod authority_widens;
mod budget_overspent;
mod fold_goes_astray;
mod stand_in_widens;
