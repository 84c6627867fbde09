//! A directory held open, and changes to what is in it. All of them are relative to the
//! directory itself, so that it does not matter what becomes of its path meanwhile.

use std::{
    ffi::OsStr,
    fs::File,
    hash::{BuildHasher as _, RandomState},
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fd::OwnedFd,
    fs::{
        Access, AtFlags, FileType, Gid, Mode, OFlags, RawMode, Uid, accessat, fchmod, fchown,
        mkdirat, openat, readlinkat, renameat, statat, symlinkat, unlinkat,
    },
    io::Errno,
};

use adjutant_core::{Change, FileState};

use crate::{
    files::Stamp,
    handle::{self, DIRECTORY, FILE},
};

/// The longest file that is changed: what it held is kept.
pub(crate) const LONGEST: u64 = Change::LARGEST as u64;
/// What a mode says of who may do what.
const PERMISSIONS: u32 = 0o777;

/// A directory.
pub(crate) struct Directory(pub(crate) OwnedFd);

/// What was found at a name: a file, or a link, whose content is where it leads.
#[derive(Debug)]
pub(crate) struct Former {
    pub(crate) content: Vec<u8>,
    /// Its kind and permissions.
    pub(crate) mode: u32,
    /// When it is a file: its owner and what else tells it from others.
    pub(crate) owner: Option<(u32, u32)>,
    pub(crate) stamp: Option<Stamp>,
}

impl Former {
    pub(crate) fn is_link(&self) -> bool {
        self.mode == FileState::LINK
    }

    fn is_still(&self, now: &Self) -> bool {
        (&self.content, self.mode, self.owner) == (&now.content, now.mode, now.owner)
    }
}

impl Directory {
    /// Opens a directory.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        handle::plain(path, DIRECTORY).map(Self)
    }

    /// Opens a directory. If it is missing it is made, and so are those above it, and told.
    pub(crate) fn make(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<Self> {
        match (Self::open(path), path.parent(), path.file_name()) {
            (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                let above = Self::make(above, made)?;
                match mkdirat(&above.0, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => made.push(path.to_owned()),
                    // Somebody else made it.
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                handle::step(&above.0, name, DIRECTORY).map(Self)
            }
            (opened, ..) => opened,
        }
    }

    /// Returns what is at a name, if anything.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<Option<Former>> {
        let status = match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            status => status?,
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Symlink => {
                let content = readlinkat(&self.0, name, Vec::new())?.into_bytes();
                Ok(Some(Former { content, mode: FileState::LINK, owner: None, stamp: None }))
            }
            FileType::RegularFile => self.read_file(name).map(Some),
            FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::Error::other("not a regular file")),
        }
    }

    fn read_file(&self, name: &OsStr) -> io::Result<Former> {
        let (file, metadata) = handle::regular(handle::step(&self.0, name, FILE)?.into())?;
        let mut content = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut content)?;
        if content.len() as u64 > LONGEST {
            let most = LONGEST / 1024 / 1024;
            let why = format!(
                "too long to be changed here: {} bytes, the most are {most} MiB",
                metadata.len()
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let (mode, owner) = (metadata.mode(), Some((metadata.uid(), metadata.gid())));
        Ok(Former { content, mode, owner, stamp: Some(Stamp::of(&metadata)) })
    }

    /// Reports whether there is anything at a name.
    pub(crate) fn has(&self, name: &OsStr) -> io::Result<bool> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(false),
            status => Ok(status.map(|_| true)?),
        }
    }

    /// Reports whether a file may be written. One that may not could still be replaced, but
    /// whoever set its permissions does not expect that.
    pub(crate) fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        Ok(accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Writes a content beside where it is to go, with the owner and the permissions of what
    /// it replaces.
    pub(crate) fn stage(self, content: &[u8], former: Option<&Former>) -> io::Result<Staged> {
        let name = passing_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = if former.is_some() { 0o600 } else { 0o666 };
        let file = openat(&self.0, &name, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(mode))?;
        let mut file = File::from(file);
        let mut staged = Staged { directory: self, name, mode: 0 };
        file.write_all(content)?;
        if let Some(Former { mode, owner, .. }) = former {
            let own = |(user, group)| {
                fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))).is_ok()
            };
            // Who may run as somebody else is not for another owner to say.
            let is_kept = owner.is_some_and(own);
            let kept = if is_kept { 0o7777 } else { PERMISSIONS };
            fchmod(&file, Mode::from_raw_mode((mode & kept) as RawMode))?;
        }
        staged.mode = file.metadata()?.mode();
        Ok(staged)
    }

    /// Makes a link beside where it is to go.
    pub(crate) fn stage_link(self, target: &[u8]) -> io::Result<Staged> {
        let name = passing_name();
        symlinkat(OsStr::from_bytes(target), &self.0, &name)?;
        Ok(Staged { directory: self, name, mode: FileState::LINK })
    }

    /// Removes a file or a link, if it is still what it was.
    pub(crate) fn remove(&self, name: &OsStr, former: Option<&Former>) -> io::Result<()> {
        self.check(name, former)?;
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    fn check(&self, name: &OsStr, former: Option<&Former>) -> io::Result<()> {
        match (former, self.read(name)?) {
            (None, None) => Ok(()),
            (Some(former), Some(now)) if former.is_still(&now) => Ok(()),
            _ => Err(io::Error::other("somebody changed it just now: read it again")),
        }
    }
}

/// How the names begin of what is written beside where it is to go.
const PASSING: &str = ".adjutant-";

/// Returns a name that nobody else has.
fn passing_name() -> String {
    format!("{PASSING}{:016x}", RandomState::new().hash_one(()))
}

/// Reports whether a name is such a one.
pub(crate) fn is_passing_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PASSING));
    digits.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A content that is written and not yet in its place. Dropped, it goes away.
pub(crate) struct Staged {
    directory: Directory,
    name: String,
    /// Its kind and permissions.
    pub(crate) mode: u32,
}

impl Staged {
    /// Puts the content in the place of what was found there, at once or not at all, if that
    /// is still what it was.
    pub(crate) fn put(&self, name: &OsStr, former: Option<&Former>) -> io::Result<()> {
        self.directory.check(name, former)?;
        let directory = &self.directory.0;
        // Nobody's new file is replaced; but some filesystems cannot promise that.
        #[cfg(any(target_os = "linux", target_vendor = "apple"))]
        if former.is_none() {
            use rustix::fs::{RenameFlags, renameat_with};
            let flags = RenameFlags::NOREPLACE;
            match renameat_with(directory, &self.name, directory, name, flags) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                end => return Ok(end?),
            }
        }
        Ok(renameat(directory, &self.name, directory, name)?)
    }
}

impl Staged {
    /// Puts the content in the place of whatever is there, at once or not at all.
    pub(crate) fn replace(&self, name: &OsStr) -> io::Result<()> {
        let directory = &self.directory.0;
        Ok(renameat(directory, &self.name, directory, name)?)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // There is nothing of that name any more once it is in its place.
        let _ = unlinkat(&self.directory.0, &self.name, AtFlags::empty());
    }
}
