//! A session at work, as other processes see it.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use adjutant_core::SessionId;
use rustix::fs::{FlockOperation, flock};

/// Keeps others from a session for as long as it is held. The system lets go of it when the
/// process dies, however it does.
#[derive(Debug)]
pub(crate) struct Running {
    path: PathBuf,
    _file: File,
}

impl Running {
    /// Takes a session of a journal, or returns nothing if another process has it.
    pub(crate) fn take(journal: &Path, session: SessionId) -> io::Result<Option<Self>> {
        let mut path = journal.as_os_str().to_owned();
        path.push(format!("-{session}"));
        let path = PathBuf::from(path);
        let directory = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        loop {
            let file = File::options().append(true).create(true).open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path)? => return Ok(Some(Self { path, _file: file })),
                // Whoever had it before took the file away in between.
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reports whether an open file is the one that is found at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((open.dev(), open.ino()) == (found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Still locked, so that whoever opened it before notices ([`is_at`]). A file that is left
        // over holds nobody up.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn one_process_at_a_time_has_a_session() {
        let directory = tempfile::tempdir().unwrap();
        let take = |number| {
            let session = SessionId::from(Uuid::from_u128(number));
            Running::take(&directory.path().join("journal.db"), session).unwrap()
        };
        let first = take(1);
        assert!(first.is_some() && take(1).is_none() && take(2).is_some());
        drop(first);
        assert!(take(1).is_some());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_was_taken_away_is_not_the_one_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let old = File::create(&path).unwrap();
        assert!(is_at(&old, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&old, &path).unwrap());
        let new = File::create(&path).unwrap();
        assert!(!is_at(&old, &path).unwrap() && is_at(&new, &path).unwrap());
    }
}
