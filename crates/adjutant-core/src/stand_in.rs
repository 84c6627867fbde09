//! A directory that stands in for another.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// A directory that stands in for another: what an agent does in the one is judged, by all who
/// stand above it, as if it were done in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// Where the agent works. Made for it alone, so that it holds nothing but copies of what is
    /// in the other.
    pub place: PathBuf,
    /// What the place stands for.
    pub original: PathBuf,
}

impl StandIn {
    /// Reports whether neither directory is inside the other.
    pub(crate) fn is_apart(&self) -> bool {
        !self.place.starts_with(&self.original) && !self.original.starts_with(&self.place)
    }

    /// Returns what a path counts as, further up.
    pub(crate) fn original_of<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        match path.strip_prefix(&self.place) {
            Ok(rest) => Cow::Owned(below(&self.original, rest)),
            Err(_) => Cow::Borrowed(path),
        }
    }

    /// Returns where a path is found once the place stands for the original.
    pub fn place_of(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.original)
            .map_or_else(|_| path.to_owned(), |rest| below(&self.place, rest))
    }

    /// Returns what is left of a directory in which an agent may work: nothing of the original.
    pub(crate) fn scope_of(&self, directory: &Path) -> PathBuf {
        if self.original.starts_with(directory) {
            self.place.clone()
        } else {
            self.place_of(directory)
        }
    }
}

/// Joins without a slash at the end.
fn below(directory: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { directory.to_owned() } else { directory.join(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_there_and_back() {
        let stand_in = StandIn { place: "/copy".into(), original: "/project".into() };
        for (place, original) in [("/copy", "/project"), ("/copy/a/b", "/project/a/b")] {
            assert_eq!(stand_in.original_of(place.as_ref()).as_os_str(), original);
            assert_eq!(stand_in.place_of(original.as_ref()).as_os_str(), place);
        }
        assert_eq!(stand_in.original_of("/copying/a".as_ref()), Path::new("/copying/a"));
    }

    #[test]
    fn no_directory_of_the_scope_reaches_the_original() {
        let stand_in = StandIn { place: "/copy".into(), original: "/home/project".into() };
        let scopes = [("/home", "/copy"), ("/home/project/src", "/copy/src"), ("/etc", "/etc")];
        for (before, after) in scopes {
            assert_eq!(stand_in.scope_of(before.as_ref()), Path::new(after));
        }
    }
}
