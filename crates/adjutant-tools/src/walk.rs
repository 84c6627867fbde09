//! Everything below a directory, in order.

use std::path::Path;

use ignore::{Walk, WalkBuilder};

use crate::gate::Gate;

/// What becomes of names that start with a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// They are shown, all but `.git`.
    Shown,
    /// They are left out.
    Skipped,
}

/// Walks a directory, or a single file, without what `.gitignore` names. Links are seen
/// and not followed, so a walk never leaves the directory it was allowed.
pub(crate) fn below(root: &Path, hidden: Hidden, gate: &Gate) -> Walk {
    let gate = gate.clone();
    WalkBuilder::new(root)
        .hidden(hidden == Hidden::Skipped)
        .require_git(false)
        // What the kernel makes up, such as /proc, has no end and reads like nothing on disk.
        .same_file_system(true)
        .filter_entry(move |entry| {
            entry.depth() == 0 || (entry.file_name() != ".git" && gate.shows(entry.path()))
        })
        .sort_by_file_name(Ord::cmp)
        .build()
}

/// Walks a directory as [`below`] does, whoever it is for: what is shown of it is judged later.
pub(crate) fn unjudged(root: &Path, hidden: Hidden) -> Walk {
    WalkBuilder::new(root)
        .hidden(hidden == Hidden::Skipped)
        .require_git(false)
        .same_file_system(true)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .sort_by_file_name(Ord::cmp)
        .build()
}

/// Walks the entries of a directory itself, hidden ones too.
pub(crate) fn entries(root: &Path, gate: &Gate) -> Walk {
    let gate = gate.clone();
    WalkBuilder::new(root)
        .standard_filters(false)
        .max_depth(Some(1))
        .filter_entry(move |entry| entry.depth() == 0 || gate.shows(entry.path()))
        .sort_by_file_name(Ord::cmp)
        .build()
}
