//! What files held, for as long as the process lives.

use std::{
    collections::HashMap,
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _},
    path::Path,
};

use adjutant_core::Digest;

/// The most it holds.
const MOST: u64 = 2 * 1024 * 1024 * 1024;

/// Contents in a file without a name: when the process ends, however it does, it is gone.
pub(super) struct Pack {
    file: File,
    end: u64,
    /// Where each content begins, and how long it is.
    places: HashMap<Digest, (u64, usize)>,
}

impl Pack {
    /// Makes an empty one in a directory.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(format!("snapshot-{:016x}", RandomState::new().hash_one(())));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(path)?;
        Ok(Self { file, end: 0, places: HashMap::new() })
    }

    /// Keeps a content. What is the same is kept once.
    pub(super) fn keep(&mut self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        if !self.places.contains_key(&digest) {
            let end = self.end + content.len() as u64;
            if end > MOST {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            self.file.write_all_at(content, self.end)?;
            self.places.insert(digest.clone(), (self.end, content.len()));
            self.end = end;
        }
        Ok(digest)
    }

    /// Returns a content that was kept.
    pub(super) fn fetch(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        let (start, length) = self.places.get(digest).ok_or(io::ErrorKind::NotFound)?;
        let mut content = vec![0; *length];
        self.file.read_exact_at(&mut content, *start)?;
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let mut pack = Pack::new(&directory.path().join("data")).unwrap();
        let contents = [&b"one"[..], b"", b"\0\xff", b"one", b"two"];
        let names = contents.map(|content| pack.keep(content).unwrap());
        for (name, content) in names.iter().zip(contents) {
            assert_eq!(pack.fetch(name).unwrap(), content);
        }
        assert_eq!(pack.end, 8);
        assert!(pack.fetch(&Digest::of(b"three")).is_err());
        assert_eq!(fs::read_dir(directory.path().join("data")).unwrap().count(), 0);
    }
}
