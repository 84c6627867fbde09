//! Which directories above one may have a say in it.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Others may write there.
const OPEN_TO_OTHERS: u32 = 0o002;

/// Returns a directory and those above it that belong to the same work, the nearest first: up to
/// the top of the repository it is in. Without a repository, as long as they are the owner's and
/// nobody else may write there; what lies in the home directory itself is not of any project.
pub(crate) fn lineage(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let all = directory.ancestors();
    if let Some(top) = all.clone().find(|ancestor| ancestor.join(".git").exists()) {
        let within = all.take_while(|ancestor| ancestor.starts_with(top));
        return within.map(Path::to_owned).collect();
    }
    let owner = fs::metadata(directory).map(|metadata| metadata.uid()).ok();
    let is_theirs = |ancestor: &Path| {
        fs::metadata(ancestor).is_ok_and(|metadata| {
            Some(metadata.uid()) == owner && metadata.mode() & OPEN_TO_OTHERS == 0
        })
    };
    let above = all.skip(1).take_while(|it| Some(*it) != home && is_theirs(it));
    [directory].into_iter().chain(above).map(Path::to_owned).collect()
}
