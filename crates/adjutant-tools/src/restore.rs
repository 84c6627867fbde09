//! Files put back as they were. For undoing, which is a person's and no model's to do.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Digest, FileState};
use rustix::fs::{AtFlags, FileType, Mode, RawMode, mkdirat, unlinkat};

use crate::directory::{Directory, Former};

/// The mode of a directory, as far as anyone asks.
const DIRECTORY: u32 = 0o040_755;

/// A place for a file and what is there. None of the directories above it may be a link.
pub struct Spot {
    path: PathBuf,
    /// Unless it is missing.
    above: Option<Directory>,
    found: Found,
}

enum Found {
    Nothing,
    /// A file or a link.
    Entry(Former),
    Directory,
}

impl Spot {
    /// Looks at a place, or tells why nothing can be put there.
    pub fn find(path: &Path) -> io::Result<Self> {
        let (above, name) = split(path)?;
        let above = match Directory::open(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        let found = match above.as_ref().map(|above| above.read(name)).transpose() {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Found::Directory,
            read => read?.flatten().map_or(Found::Nothing, Found::Entry),
        };
        Ok(Self { path: path.to_owned(), above, found })
    }

    /// Returns what is there.
    pub fn state(&self) -> Option<FileState> {
        let (content, mode) = match &self.found {
            Found::Nothing => return None,
            Found::Entry(former) => (former.content.as_slice(), former.mode),
            Found::Directory => (&[][..], DIRECTORY),
        };
        Some(FileState { digest: Digest::of(content), bytes: content.len() as u64, mode })
    }

    /// Returns what it holds.
    pub fn content(&self) -> Option<Arc<[u8]>> {
        match &self.found {
            Found::Entry(former) => Some(former.content.as_slice().into()),
            Found::Nothing | Found::Directory => None,
        }
    }

    /// Puts something in the place of what was found, at once or not at all. Directories that
    /// are missing are made.
    pub fn put(self, state: &FileState, content: &[u8]) -> io::Result<()> {
        let Self { path, above, found } = self;
        let (parent, name) = split(&path)?;
        let above = above.map_or_else(|| Directory::make(parent, &mut Vec::new()), Ok)?;
        let former = match found {
            Found::Directory => return Err(io::ErrorKind::IsADirectory.into()),
            Found::Nothing => None,
            Found::Entry(former) => Some(former),
        };
        let staged = match FileType::from_raw_mode(state.mode as RawMode) {
            FileType::Directory => {
                let mode = Mode::from_raw_mode((state.mode & 0o777) as RawMode);
                return Ok(mkdirat(&above.0, name, mode)?);
            }
            FileType::Symlink => above.stage_link(content)?,
            _ => {
                let owner = former.as_ref().and_then(|former| former.owner);
                let like = Former { content: Vec::new(), mode: state.mode, owner, stamp: None };
                above.stage(content, Some(&like))?
            }
        };
        staged.put(name, former.as_ref())
    }

    /// Takes away what was found. A directory goes only if it is empty.
    pub fn remove(self) -> io::Result<()> {
        let (_, name) = split(&self.path)?;
        match (self.above, self.found) {
            (None, _) | (_, Found::Nothing) => Ok(()),
            (Some(above), Found::Entry(former)) => above.remove(name, Some(&former)),
            (Some(above), Found::Directory) => Ok(unlinkat(&above.0, name, AtFlags::REMOVEDIR)?),
        }
    }
}

fn split(path: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    fn ground() -> (tempfile::TempDir, PathBuf) {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        (keep, top)
    }

    fn state(content: &str, mode: u32) -> FileState {
        let digest = Digest::of(content.as_bytes());
        FileState { digest, bytes: content.len() as u64, mode }
    }

    #[test]
    fn what_is_put_is_what_is_found() {
        let (_keep, top) = ground();
        let path = top.join("new/deep/file");
        let states = [
            (state("one", 0o100_640), "one"),
            (state("two", 0o100_755), "two"),
            (state("three", 0o120_777), "three"),
            (state("four", 0o100_600), "four"),
        ];
        assert_eq!(Spot::find(&path).unwrap().state(), None);
        for (state, content) in states {
            Spot::find(&path).unwrap().put(&state, content.as_bytes()).unwrap();
            let spot = Spot::find(&path).unwrap();
            assert_eq!(spot.state(), Some(state));
            assert_eq!(spot.content().unwrap()[..], *content.as_bytes());
        }
        assert_eq!(fs::read_dir(top.join("new/deep")).unwrap().count(), 1);
        Spot::find(&path).unwrap().remove().unwrap();
        assert_eq!(Spot::find(&path).unwrap().state(), None);
    }

    #[test]
    fn nothing_is_put_where_a_link_leads() {
        let (_keep, top) = ground();
        fs::create_dir(top.join("elsewhere")).unwrap();
        symlink("elsewhere", top.join("link")).unwrap();
        fs::write(top.join("elsewhere/file"), "theirs").unwrap();
        assert!(Spot::find(&top.join("link/file")).is_err());
        // A link in the place itself is replaced and not followed.
        symlink("elsewhere/file", top.join("file")).unwrap();
        let spot = Spot::find(&top.join("file")).unwrap();
        assert_eq!(spot.content().unwrap()[..], *b"elsewhere/file");
        spot.put(&state("ours", 0o100_644), b"ours").unwrap();
        assert_eq!(fs::read_to_string(top.join("file")).unwrap(), "ours");
        assert_eq!(fs::read_to_string(top.join("elsewhere/file")).unwrap(), "theirs");
    }

    #[test]
    fn what_changed_since_it_was_found_is_left_alone() {
        let (_keep, top) = ground();
        let path = top.join("file");
        let states = || [Spot::find(&path).unwrap(), Spot::find(&path).unwrap()];
        let [put, _] = states();
        fs::write(&path, "new").unwrap();
        assert!(put.put(&state("old", 0o100_644), b"old").is_err());
        let [put, remove] = states();
        fs::write(&path, "newer").unwrap();
        assert!(put.put(&state("old", 0o100_644), b"old").is_err());
        assert!(remove.remove().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
    }

    #[test]
    fn a_directory_goes_only_if_it_is_empty() {
        let (_keep, top) = ground();
        let path = top.join("directory");
        Spot::find(&path).unwrap().put(&state("", 0o040_700), &[]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(Spot::find(&path).unwrap().state(), Some(state("", DIRECTORY)));
        fs::write(path.join("file"), "").unwrap();
        let error = Spot::find(&path).unwrap().remove().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
        fs::remove_file(path.join("file")).unwrap();
        Spot::find(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }
}
