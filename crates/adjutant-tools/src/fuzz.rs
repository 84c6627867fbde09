//! What a fuzzer reaches: what is made of whatever a model writes.

use std::ops::Range;

use adjutant_core::Touch;

use crate::{
    edit::{self, Applied, Edit, Fit, Swap},
    shell,
};

/// A file after an edit.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited {
    /// What is in it.
    pub content: Vec<u8>,
    /// The ranges of what was in it that were replaced, and by what.
    pub swaps: Vec<(Range<usize>, Vec<u8>)>,
    /// Whether the old text was there letter by letter, line ends aside.
    pub is_exact: bool,
}

/// Replaces a text of a file, or every one, or tells why not.
pub fn edit(content: &[u8], old: &str, new: &str, replace_all: bool) -> Result<Edited, String> {
    let edit = Edit { old_text: old.into(), new_text: new.into(), replace_all: Some(replace_all) };
    let Applied { content, swaps, fit, .. } =
        edit::apply(content, &edit).map_err(|misfit| misfit.to_string())?;
    let swaps = swaps.into_iter().map(|Swap { range, with }| (range, with)).collect();
    Ok(Edited { content, swaps, is_exact: fit == Fit::Exact })
}

/// Tells what a command of bash would run.
pub fn touches(command: &str) -> Vec<Touch> {
    shell::touches(command, shell::Dialect::Bash)
}
