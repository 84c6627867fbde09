//! A change to a file, and what was there before it.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The name of a content, which no other content has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Names a content.
    pub fn of(content: &[u8]) -> Self {
        Self::written(&Sha256::digest(content))
    }

    fn written(hash: &[u8]) -> Self {
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
        Self(hex.into())
    }

    /// Returns the name in words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What is at a path: a file, a link whose content is where it points, or a directory, which
/// has no content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// The name of its content.
    pub digest: Digest,
    /// How long its content is.
    pub bytes: u64,
    /// Its kind and permissions, as Unix writes them: `0o100644`, `0o120777`, `0o040755`.
    pub mode: u32,
}

/// A file that changes.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which: absolute, with every link but the last part resolved.
    pub path: String,
    /// What it was, with its content; `None` if it was not there.
    pub before: Option<(FileState, Arc<[u8]>)>,
    /// What it becomes; `None` if it goes.
    pub after: Option<FileState>,
}

impl Change {
    /// The longest content that is kept. What is longer cannot be undone.
    pub const LARGEST: usize = 16 * 1024 * 1024;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_its_known_name() {
        let name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").as_str(), name);
    }
}
