//! Where a model's answers come from.
