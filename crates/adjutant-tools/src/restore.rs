//! Files put back as they were. For undoing, which is a person's and no model's to do.

use std::{
    ffi::OsStr,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::FileState;
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, fchmod, mkdirat, statat, unlinkat};

use crate::{
    directory::{Directory, Former},
    handle,
};

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
    /// A directory, and its mode.
    Directory(u32),
}

/// What is where a directory would have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Where it is.
    pub path: PathBuf,
    what: &'static str,
}

impl Obstacle {
    /// Returns what is in the way to a path, if anything is.
    pub fn find(path: &Path) -> Option<Self> {
        let mut above: Vec<_> = path.ancestors().skip(1).collect();
        above.reverse();
        let kinds = above.into_iter().map(|it| Some((it, fs::symlink_metadata(it).ok()?)));
        let (path, found) = kinds.map_while(|it| it).find(|(_, found)| !found.is_dir())?;
        let what = if found.is_symlink() { "a symbolic link" } else { "a file" };
        Some(Self { path: path.to_owned(), what })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is in the way at `{}`", self.what, self.path.display())
    }
}

impl Spot {
    /// Looks at a place, or tells why nothing can be put there.
    pub fn find(path: &Path) -> io::Result<Self> {
        let (above, name) = split(path)?;
        let above = match Directory::open(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        let found = match &above {
            None => Found::Nothing,
            Some(above) => match above.read(name) {
                Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                    let status = statat(&above.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    Found::Directory(status.st_mode)
                }
                read => read?.map_or(Found::Nothing, Found::Entry),
            },
        };
        Ok(Self { path: path.to_owned(), above, found })
    }

    /// Returns what is there.
    pub fn state(&self) -> Option<FileState> {
        match &self.found {
            Found::Nothing => None,
            Found::Entry(former) => Some(FileState::of(&former.content, former.mode)),
            Found::Directory(mode) => Some(FileState::of(&[], *mode)),
        }
    }

    /// Returns what it holds.
    pub fn content(&self) -> Option<Arc<[u8]>> {
        match &self.found {
            Found::Entry(former) => Some(former.content.as_slice().into()),
            Found::Nothing | Found::Directory(_) => None,
        }
    }

    /// Puts something in the place of what was found: a file or a link at once or not at all,
    /// unless it takes the place of a directory, which has to be empty. Directories that are
    /// missing are made.
    pub fn put(self, state: &FileState, content: &[u8]) -> io::Result<()> {
        let Self { path, above, found } = self;
        let (parent, name) = split(&path)?;
        let above = above.map_or_else(|| Directory::make(parent, &mut Vec::new()), Ok)?;
        if state.is_directory() {
            return put_directory(&above, name, &found, state.mode);
        }
        let former = match &found {
            Found::Entry(former) => Some(former),
            Found::Directory(_) => {
                unlinkat(&above.0, name, AtFlags::REMOVEDIR)?;
                None
            }
            Found::Nothing => None,
        };
        let staged = if state.is_link() {
            above.stage_link(content)?
        } else {
            let owner = former.and_then(|former| former.owner);
            let like = Former { content: Vec::new(), mode: state.mode, owner, stamp: None };
            above.stage(content, Some(&like))?
        };
        staged.put(name, former)
    }

    /// Takes away what was found. A directory goes only if it is empty.
    pub fn remove(self) -> io::Result<()> {
        let (_, name) = split(&self.path)?;
        match (self.above, self.found) {
            (None, _) | (_, Found::Nothing) => Ok(()),
            (Some(above), Found::Entry(former)) => above.remove(name, Some(&former)),
            (Some(above), Found::Directory(_)) => Ok(unlinkat(&above.0, name, AtFlags::REMOVEDIR)?),
        }
    }
}

/// Puts a directory in the place of what was found. One that is there gets the mode.
fn put_directory(above: &Directory, name: &OsStr, found: &Found, mode: u32) -> io::Result<()> {
    if let Found::Entry(former) = found {
        above.remove(name, Some(former))?;
    }
    if !matches!(found, Found::Directory(_)) {
        mkdirat(&above.0, name, Mode::RWXU)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let made = handle::step(&above.0, name, flags)?;
    Ok(fchmod(made, Mode::from_raw_mode((mode & 0o7777) as RawMode))?)
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    path.parent().zip(path.file_name()).ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn ground() -> (tempfile::TempDir, PathBuf) {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        (keep, top)
    }

    fn state(content: &str, mode: u32) -> FileState {
        FileState::of(content.as_bytes(), mode)
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
        assert_eq!(Spot::find(&path).unwrap().state(), Some(state("", 0o040_700)));
        Spot::find(&path).unwrap().put(&state("", 0o041_777), &[]).unwrap();
        assert_eq!(Spot::find(&path).unwrap().state(), Some(state("", 0o041_777)));
        fs::write(path.join("file"), "").unwrap();
        let error = Spot::find(&path).unwrap().remove().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
        fs::remove_file(path.join("file")).unwrap();
        Spot::find(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_takes_the_place_of_an_empty_directory_and_gives_it_back() {
        let (_keep, top) = ground();
        let path = top.join("one");
        let states = [state("", 0o040_750), state("ours", 0o100_644), state("ours", 0o120_777)];
        for next in states.iter().chain(states.iter().rev()) {
            let content: &[u8] = if next.is_directory() { b"" } else { b"ours" };
            Spot::find(&path).unwrap().put(next, content).unwrap();
            assert_eq!(Spot::find(&path).unwrap().state().as_ref(), Some(next));
        }
        fs::write(path.join("theirs"), "").unwrap();
        let error = Spot::find(&path).unwrap().put(&states[1], b"ours").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
        assert_eq!(fs::read_dir(&top).unwrap().count(), 1);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let (_keep, top) = ground();
        fs::create_dir(top.join("directory")).unwrap();
        fs::write(top.join("directory/file"), "").unwrap();
        symlink("directory", top.join("link")).unwrap();
        let found = |path: &str| Obstacle::find(&top.join(path)).map(|it| it.to_string());
        let named =
            |what: &str, at: &str| format!("{what} is in the way at `{}`", top.join(at).display());
        assert_eq!(found("link/a/b"), Some(named("a symbolic link", "link")));
        assert_eq!(found("directory/file/a"), Some(named("a file", "directory/file")));
        assert_eq!(found("directory/none/a"), None);
        assert_eq!(found("link"), None);
    }
}
