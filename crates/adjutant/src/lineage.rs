//! Which directories above one may have a say in it.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Others may write there.
const OPEN_TO_OTHERS: u32 = 0o002;

/// Returns a directory and those above it that belong to the same work, the nearest first: up to
/// the top of the repository it is in, if that is its owner's. Without a repository, as long as
/// they are the owner's and nobody else may write there. What lies in a home directory above it
/// is not of any project.
pub(crate) fn lineage(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let home = home.map(|home| fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
    let owner = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.uid());
    let ours = owner(directory);
    let above = || directory.ancestors().skip(1).take_while(|it| Some(*it) != home.as_deref());
    let is_top = |path: &&Path| ours.is_some() && owner(&path.join(".git")) == ours;
    let top = [directory].into_iter().chain(above()).find(is_top);
    let is_within = |path: &&Path| match top {
        Some(top) => path.starts_with(top),
        None => owner(path) == ours && !is_open(path),
    };
    [directory].into_iter().chain(above().take_while(is_within)).map(Path::to_owned).collect()
}

/// Reports whether others may write there, as far as can be told.
fn is_open(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.mode() & OPEN_TO_OTHERS != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Makes `home/work/project/src` and returns these four.
    fn directories(root: &Path) -> [PathBuf; 4] {
        let home = root.canonicalize().unwrap().join("home");
        let work = home.join("work");
        let src = work.join("project/src");
        fs::create_dir_all(&src).unwrap();
        [home, work.clone(), work.join("project"), src]
    }

    #[test]
    fn a_repository_is_walked_to_its_top() {
        let root = tempfile::tempdir().unwrap();
        let [home, work, project, src] = directories(root.path());
        assert_eq!(lineage(&src, Some(&home)), [src.clone(), project.clone(), work]);
        fs::create_dir(project.join(".git")).unwrap();
        assert_eq!(lineage(&src, Some(&home)), [src.clone(), project.clone()]);
        assert_eq!(lineage(&project, Some(&home)), [project]);
    }

    #[test]
    fn a_home_above_is_no_project_even_if_it_is_a_repository() {
        let root = tempfile::tempdir().unwrap();
        let [home, work, project, src] = directories(root.path());
        fs::create_dir(home.join(".git")).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert_eq!(lineage(&src, Some(&link)), [src, project, work]);
        assert_eq!(lineage(&home, Some(&home)), [home]);
    }

    #[test]
    fn what_others_may_write_to_has_no_say() {
        let root = tempfile::tempdir().unwrap();
        let [home, work, project, src] = directories(root.path());
        fs::set_permissions(&work, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(lineage(&src, Some(&home)), [src, project]);
    }
}
