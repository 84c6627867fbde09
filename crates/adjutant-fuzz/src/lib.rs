//! Whatever comes from outside, mutated without end.
//!
//! A [`Target`] takes any bytes and panics where something does not hold. A target is a file
//! in `targets/`, a row of [`TARGETS`], and a directory of seeds in `corpus/`: what a real
//! server or user wrote, and every input that once found a fault.
//!
//! No compiler tells here which code an input reaches. A target tells instead what came of
//! the input, and an input that something new came of is mutated further.

pub mod corpus;
pub mod harness;
mod minimise;
mod mutate;
mod panics;
pub mod targets;

pub use harness::{Finding, Limit, Run, Target, fuzz, once};
pub use targets::TARGETS;
