//! What git takes orders from.

use std::path::Path;

use adjutant_core::Effect;

/// The names of what a repository has that git obeys.
const ORDERS: [&str; 6] = ["config", "config.worktree", "commondir", "hooks", "info", "worktrees"];
/// The names of what makes a directory one.
const SIGNS: [&str; 2] = ["HEAD", "objects"];

/// Returns what it is to write to a path: more than to change a file, if git would obey it.
pub(crate) fn effect_of_writing(path: &Path) -> Effect {
    if is_obeyed(path) { Effect::Reach } else { Effect::Write }
}

/// Reports whether a path is one that git reads orders from in a directory that is a repository,
/// whatever it is called, or would become one by being written.
fn is_obeyed(path: &Path) -> bool {
    let (mut below, mut directories) = (path, path.ancestors().skip(1));
    directories.any(|directory| {
        let name = below.file_name().unwrap_or_default();
        below = directory;
        let has = |sign: &str| name == sign || directory.join(sign).symlink_metadata().is_ok();
        let is_order = || ORDERS.iter().any(|order| name == *order);
        let is_new = || directory.join(name).symlink_metadata().is_err();
        let is_sign = || SIGNS.iter().any(|sign| name == *sign);
        (is_order() || is_sign() && is_new()) && has("HEAD") && (has("objects") || has("commondir"))
    })
}
