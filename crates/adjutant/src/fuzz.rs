//! What a fuzzer reaches: what is made of whatever is in an agent's file.

pub use crate::agents::fuzz::{Loaded, agent};
