//! A directory to work in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::seat::Seat;

/// A directory that goes with the test, and an agent that works in it.
pub(crate) struct Ground {
    _keep: TempDir,
    pub(crate) seat: Seat,
}

impl Ground {
    /// Makes `work` with these files in it; the agent works there.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let keep = tempfile::tempdir().unwrap();
        let work = keep.path().canonicalize().unwrap().join("work");
        fs::create_dir(&work).unwrap();
        let ground = Self { _keep: keep, seat: Seat::at(&work) };
        for (path, text) in files {
            ground.write(path, text);
        }
        ground
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.seat.workdir.join(path)
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Returns the names in a directory, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}
