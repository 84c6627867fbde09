//! What is known of one file or directory.

use std::{
    fs::{self, Metadata},
    io::{self, Read as _},
    os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use adjutant_core::{Change, Digest, FileState};

use super::pack::Pack;
use crate::{files::Stamp, handle, sandbox::is_cover};

/// How exactly the system knows when something changed, and more.
pub(super) const MARGIN: Duration = Duration::from_millis(20);

/// What is known of one file or directory.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    stamp: Stamp,
    /// Its device and its number there.
    inode: (u64, u64),
    mode: u32,
    /// When anything of it was changed last.
    pub(super) changed: SystemTime,
    held: Held,
}

/// What a file held.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    /// A content, which the pack has.
    Content(Digest),
    /// The path of something else.
    Link(Arc<[u8]>),
    /// It is a directory.
    Files,
    /// Nobody knows, for this reason.
    Unknown(String),
}

impl Entry {
    /// Looks at a file, unless it is still what it was. Nothing is what is neither a file, a
    /// link nor a directory, or not there.
    pub(super) fn look(
        path: &Path,
        known: Option<&Self>,
        pack: &mut Pack,
    ) -> io::Result<Option<Self>> {
        let start = SystemTime::now();
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_gone(&error) => return Ok(None),
            // It may be there and be another.
            Err(error) => {
                let held = Held::Unknown(error.to_string());
                return Ok(known.map(|known| Self { held, ..known.clone() }));
            }
        };
        let stamp = Stamp::of(&metadata);
        // What changed just before it was read may have changed again without a trace.
        let is_same = |known: &&Self| {
            known.stamp == stamp
                && known.changed + MARGIN < start
                && known.mode == metadata.mode()
                && known.trouble().is_none()
        };
        if let Some(known) = known.filter(is_same) {
            return Ok(Some(known.clone()));
        }
        let Some(held) = read(path, &metadata, pack)? else { return Ok(None) };
        let (inode, mode) = ((metadata.dev(), metadata.ino()), metadata.mode());
        Ok(Some(Self { inode, mode, changed: stamp.changed(), stamp, held }))
    }

    /// Reports whether another is the same to anyone who looks.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.held == other.held
            && (self.trouble().is_none() || self.stamp == other.stamp)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.held == Held::Files
    }

    /// Reports whether it is a directory, and not the one that was there before.
    pub(super) fn is_other_directory(&self, before: &Self) -> bool {
        self.is_directory() && (!before.is_directory() || self.inode != before.inode)
    }

    /// Returns why nobody knows what it held.
    pub(super) fn trouble(&self) -> Option<&str> {
        match &self.held {
            Held::Unknown(why) => Some(why),
            Held::Content(_) | Held::Link(_) | Held::Files => None,
        }
    }

    /// Returns its state, and what could be put back.
    pub(super) fn former(&self, pack: &Pack) -> io::Result<(FileState, Arc<[u8]>)> {
        let content = match &self.held {
            Held::Content(digest) => pack.fetch(digest)?.into(),
            Held::Link(target) => Arc::clone(target),
            Held::Files => Arc::default(),
            Held::Unknown(_) => return Ok((FileState::unknown(self.mode), Arc::default())),
        };
        Ok((FileState::of(&content, self.mode), content))
    }
}

/// Reads what a file holds. Nothing is what is none, has gone, or only stands in the way of
/// commands.
fn read(path: &Path, metadata: &Metadata, pack: &mut Pack) -> io::Result<Option<Held>> {
    let held = if is_cover(path) {
        return Ok(None);
    } else if metadata.is_dir() {
        Ok(Held::Files)
    } else if metadata.is_symlink() {
        fs::read_link(path).map(|target| Held::Link(target.into_os_string().into_vec().into()))
    } else if metadata.is_file() {
        match content(path, metadata) {
            Ok(content) => Ok(Held::Content(pack.keep(&content)?)),
            Err(error) => Err(error),
        }
    } else {
        return Ok(None);
    };
    match held {
        Ok(held) => Ok(Some(held)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Ok(Some(Held::Unknown(error.to_string()))),
    }
}

fn content(path: &Path, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let (mut content, most) = (Vec::new(), Change::LARGEST as u64);
    if metadata.len() <= most {
        handle::open(path)?.0.take(most + 1).read_to_end(&mut content)?;
    }
    if metadata.len().max(content.len() as u64) > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(content)
}

/// Reports whether an error says that nothing is there.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_only_stands_in_the_way_of_commands_is_not_there() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let mut pack = Pack::new(&top.join("data")).unwrap();
        let (own, mine) = (top.join(".adjutant"), top.join("mine"));
        for directory in [&own, &mine] {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, fs::Permissions::from_mode(0o711)).unwrap();
        }
        let mut is_there = |path: &Path| Entry::look(path, None, &mut pack).unwrap().is_some();
        assert!(!is_there(&own) && is_there(&mine));
        fs::write(own.join("config.toml"), "").unwrap();
        assert!(is_there(&own));
    }

    #[test]
    fn what_cannot_be_looked_at_has_not_gone() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let mut pack = Pack::new(&top.join("data")).unwrap();
        let (directory, file) = (top.join("directory"), top.join("directory/file"));
        fs::create_dir(&directory).unwrap();
        fs::write(&file, "content").unwrap();
        let known = Entry::look(&file, None, &mut pack).unwrap().unwrap();
        fs::rename(&directory, top.join("aside")).unwrap();
        assert!(Entry::look(&file, Some(&known), &mut pack).unwrap().is_none());
        // For whoever may do everything, this is how a look fails.
        symlink("directory", &directory).unwrap();
        let lost = Entry::look(&file, Some(&known), &mut pack).unwrap().unwrap();
        assert!(lost.trouble().is_some() && !lost.is_as(&known));
        assert!(!lost.former(&pack).unwrap().0.is_known());
        // It is looked at again as soon as that can be done.
        fs::remove_file(&directory).unwrap();
        fs::rename(top.join("aside"), &directory).unwrap();
        let again = Entry::look(&file, Some(&lost), &mut pack).unwrap().unwrap();
        assert!(again.trouble().is_none() && again.is_as(&known));
    }
}
