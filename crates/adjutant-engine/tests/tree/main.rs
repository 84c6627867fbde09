//! The tree, seen through its events. Files are named after what can go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests may panic")]

mod answer_does_not_fit;
mod answer_is_forgotten;
mod authority_leaks;
mod breaker_does_not_hold;
mod cancelling_leaves_something;
mod child_outlives_its_parent;
mod earlier_result_misleads;
mod follow_up_is_lost;
mod fork_forgets;
mod hook_is_ignored;
mod isolation_is_ignored;
mod journal_fails;
mod limit_is_not_kept;
mod manner_is_ignored;
mod message_goes_astray;
mod model_breaks;
mod model_is_not_allowed;
mod news_is_lost;
mod note_is_lost;
mod plan_goes_wrong;
mod question_hangs;
mod random_tree_breaks;
mod reader_lags;
mod results_are_mixed_up;
mod support;
mod waiting_goes_wrong;
