//! The format of another product.

use super::{
    definition::Definition,
    problem::{Problem, Severity},
    text::Written,
};

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    (None, vec![Problem::of(Severity::Error, &written.file, "cannot be read yet")])
}
