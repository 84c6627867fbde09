//! Files opened where they were judged to be. The path that was judged has no link in it, so
//! none may be met on the way: one that is there was put there since.

use std::{
    fs::{File, Metadata},
    io,
    path::Path,
};

#[cfg(unix)]
use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

/// How a directory is opened to find something in it: it need not be readable for that.
#[cfg(target_os = "linux")]
pub(crate) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How a file is opened to be read. A pipe or a terminal is opened too, without waiting for
/// it or being taken over by it, to be told apart.
#[cfg(unix)]
pub(crate) const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a file to be read. Anything else, such as a pipe, might never end or never begin.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    #[cfg(unix)]
    let file = File::from(plain(path, FILE)?);
    #[cfg(not(unix))]
    let file = File::open(path)?;
    regular(file)
}

/// Returns a file with what is known of it, if it is one.
pub(crate) fn regular(file: File) -> io::Result<(File, Metadata)> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((file, metadata))
}

/// Returns an error unless there is a directory at a path.
pub(crate) fn check_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return plain(path, DIRECTORY).map(drop);
    #[cfg(not(unix))]
    match path.metadata()?.is_dir() {
        true => Ok(()),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Reports whether something was not opened because a link was met.
pub(crate) fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    return false;
}

/// Opens what is at an absolute path, in which nothing may be a link.
#[cfg(unix)]
pub(crate) fn plain(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, flags, Mode::empty(), resolve) {
            // Kernels and filters that are older than the call do not know it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            end => return Ok(end?),
        }
    }
    step_by_step(path, flags)
}

#[cfg(unix)]
fn step_by_step(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut at = openat(CWD, "/", DIRECTORY, Mode::empty())?;
    let mut parts = path.components().skip(1).peekable();
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_some() { DIRECTORY } else { flags };
        at = step(&at, part.as_os_str(), flags)?;
    }
    Ok(at)
}

/// Opens an entry of a directory, which may not be a link.
#[cfg(unix)]
pub(crate) fn step(at: &OwnedFd, name: &std::ffi::OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let opened = openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty());
    opened.map_err(|error| {
        let status = statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
        // Systems differ in what they call it.
        match status.map(|status| FileType::from_raw_mode(status.st_mode)) {
            Ok(FileType::Symlink) => Errno::LOOP.into(),
            _ => error.into(),
        }
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn no_part_of_a_path_may_be_a_link_however_it_is_opened() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        fs::create_dir(top.join("dir")).unwrap();
        fs::write(top.join("dir/file"), "x").unwrap();
        symlink("dir", top.join("link")).unwrap();
        symlink("dir/file", top.join("last")).unwrap();
        symlink("nowhere", top.join("dangling")).unwrap();
        let cases = [
            ("dir/file", FILE, Ok(())),
            ("dir", DIRECTORY, Ok(())),
            ("link/file", FILE, Err(Errno::LOOP)),
            ("link", DIRECTORY, Err(Errno::LOOP)),
            ("last", FILE, Err(Errno::LOOP)),
            ("dangling", FILE, Err(Errno::LOOP)),
            ("dir/file", DIRECTORY, Err(Errno::NOTDIR)),
            ("dir/file/more", FILE, Err(Errno::NOTDIR)),
            ("none/more", FILE, Err(Errno::NOENT)),
        ];
        for (path, flags, expected) in cases {
            for open in [plain, step_by_step] {
                let opened = open(&top.join(path), flags).map(drop);
                let error = opened.map_err(|error| Errno::from_io_error(&error).unwrap());
                assert_eq!(error, expected, "{path}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_kernel_makes_up_leads_nowhere_else() {
        for path in ["/proc/self/root/etc/passwd", "/proc/self/cwd", "/proc/thread-self/status"] {
            for open in [plain, step_by_step] {
                let error = open(Path::new(path), FILE).unwrap_err();
                assert_eq!(Errno::from_io_error(&error), Some(Errno::LOOP), "{path}");
            }
        }
    }

    #[test]
    fn only_a_regular_file_is_read() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let pipe = top.join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/null"), Path::new("/dev/tty")] {
            assert!(open(path).is_err(), "{}", path.display());
        }
        assert_eq!(open(&top).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
