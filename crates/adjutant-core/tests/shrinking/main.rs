//! Authority and money only shrink on the way down, whatever is asked for.

mod authority_widens;
mod budget_overspent;
