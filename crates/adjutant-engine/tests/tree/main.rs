//! The tree, seen through its events. Files are named after what can go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests may panic")]

mod answer_does_not_fit;
mod answer_is_forgotten;
mod authority_leaks;
mod cancelling_leaves_something;
mod child_outlives_its_parent;
mod fork_forgets;
mod hook_is_ignored;
mod isolation_is_ignored;
mod journal_fails;
mod limit_is_not_kept;
mod model_breaks;
mod model_is_not_allowed;
mod news_is_lost;
mod question_hangs;
mod random_tree_breaks;
mod reader_lags;
mod results_are_mixed_up;
mod support;
