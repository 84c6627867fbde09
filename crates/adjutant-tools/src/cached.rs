//! Files that are in memory already, which nobody has to wait for.

use std::path::Path;

/// The longest file that is read at once.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Reads a whole file if that takes no waiting for a disk or a network: a short one that the
/// system has in memory, at a path without links. What is not read here is read by a thread.
#[cfg(target_os = "linux")]
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    use std::io::IoSliceMut;

    use rustix::{
        fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
        io::{ReadWriteFlags, preadv2},
    };

    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::CACHED | ResolveFlags::NO_SYMLINKS;
    let file = openat2(CWD, path, flags, Mode::empty(), resolve).ok()?;
    let status = fstat(&file).ok()?;
    let length = usize::try_from(status.st_size).ok()?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile || length >= LONGEST {
        return None;
    }
    // One byte more than there should be tells whether it has grown.
    let mut bytes = vec![0; length + 1];
    let mut room = [IoSliceMut::new(&mut bytes)];
    let count = preadv2(&file, &mut room, 0, ReadWriteFlags::NOWAIT).ok()?;
    bytes.truncate(count);
    (count == length).then_some(bytes)
}

/// Elsewhere nobody can tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_: &Path) -> Option<Vec<u8>> {
    None
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_is_in_memory_is_read_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("short"), "just written").unwrap();
        fs::write(at("empty"), "").unwrap();
        fs::write(at("long"), vec![b'x'; LONGEST]).unwrap();
        symlink(at("short"), at("link")).unwrap();
        assert_eq!(read(&at("short")).as_deref(), Some(&b"just written"[..]));
        assert_eq!(read(&at("empty")).as_deref(), Some(&b""[..]));
        // Of these a thread finds out what they are.
        for other in ["long", "link", "missing", "."] {
            assert_eq!(read(&at(other)), None, "{other}");
        }
        assert_eq!(read(Path::new("/proc/self/status")), None, "its length is not known");
    }
}
