//! What a walk came upon, looked up once more. A walk goes by names, and a directory on its
//! way may become a link before it is opened. So nothing is shown but what is found again in
//! the directory it was judged to be in.

use std::{
    io,
    path::{Path, PathBuf},
};

#[cfg(unix)]
use crate::directory::Directory;

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Directory,
    /// A link that leads there.
    Link(PathBuf),
    /// A file, or something like it, of so many bytes.
    File(u64),
}

/// Looks paths up, and holds on to the latest directory, where the next is likely to be.
#[derive(Default)]
pub(crate) struct Lookup {
    #[cfg(unix)]
    latest: Option<(PathBuf, Directory)>,
}

impl Lookup {
    /// Returns what is at a path in which nothing but its end may be a link.
    #[cfg(unix)]
    pub(crate) fn find(&mut self, path: &Path) -> io::Result<Found> {
        use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

        use rustix::fs::{AtFlags, FileType, readlinkat, statat};

        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Found::Directory);
        };
        let (_, Directory(held)) = match self.latest.take() {
            Some(latest) if latest.0 == above => self.latest.insert(latest),
            _ => self.latest.insert((above.to_owned(), Directory::open(above)?)),
        };
        let status = statat(&*held, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => Found::Directory,
            FileType::Symlink => {
                let target = readlinkat(&*held, name, Vec::new())?.into_bytes();
                Found::Link(OsString::from_vec(target).into())
            }
            _ => Found::File(u64::try_from(status.st_size).unwrap_or(0)),
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn find(&mut self, path: &Path) -> io::Result<Found> {
        let metadata = path.symlink_metadata()?;
        if metadata.is_symlink() {
            return path.read_link().map(Found::Link);
        }
        Ok(if metadata.is_dir() { Found::Directory } else { Found::File(metadata.len()) })
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_is_behind_a_link_is_not_found() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        for directory in ["work/dir", "outside"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        fs::write(top.join("work/dir/file"), "12345").unwrap();
        fs::write(top.join("outside/secret"), "").unwrap();
        symlink("../outside", top.join("work/link")).unwrap();
        let mut lookup = Lookup::default();
        let mut find = |path: &str| lookup.find(&top.join("work").join(path)).ok();
        assert_eq!(find("dir/file"), Some(Found::File(5)));
        assert_eq!(find("dir/none"), None);
        assert_eq!(find("dir"), Some(Found::Directory));
        assert_eq!(find("link"), Some(Found::Link("../outside".into())));
        assert_eq!(find("link/secret"), None);
        assert_eq!(find("dir/file"), Some(Found::File(5)));
        // A directory that is held is still itself when its name leads elsewhere.
        fs::rename(top.join("work/dir"), top.join("moved")).unwrap();
        symlink("../outside", top.join("work/dir")).unwrap();
        assert_eq!(find("dir/secret"), None);
        assert_eq!(find("link"), Some(Found::Link("../outside".into())));
        assert_eq!(find("dir/secret"), None);
    }
}
