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

    /// Names what nobody could read or keep.
    pub fn unknown() -> Self {
        Self("unknown".into())
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

impl FileState {
    /// The mode of a link.
    pub const LINK: u32 = 0o120_777;
    /// The mode of a directory that nobody gave another.
    pub const DIRECTORY: u32 = 0o040_755;
    /// The part of a mode that is the kind.
    pub const KIND: u32 = 0o170_000;

    /// Returns the state of what has a content and a mode.
    pub fn of(content: &[u8], mode: u32) -> Self {
        Self { digest: Digest::of(content), bytes: content.len() as u64, mode }
    }

    /// Returns the state of something of which nobody knows what it holds.
    pub fn unknown(mode: u32) -> Self {
        Self { digest: Digest::unknown(), bytes: 0, mode }
    }

    /// Reports whether it is known what it holds.
    pub fn is_known(&self) -> bool {
        self.digest != Digest::unknown()
    }

    /// Reports whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.mode & Self::KIND == Self::DIRECTORY & Self::KIND
    }

    /// Reports whether it is a link.
    pub fn is_link(&self) -> bool {
        self.mode & Self::KIND == Self::LINK & Self::KIND
    }
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

    #[test]
    fn a_mode_tells_the_kind() {
        let kinds = |mode| {
            let state = FileState::of(b"abc", mode);
            assert_eq!((state.bytes, state.is_known()), (3, true));
            (state.is_directory(), state.is_link())
        };
        assert_eq!(kinds(0o100_644), (false, false));
        assert_eq!(kinds(0o040_700), (true, false));
        assert_eq!(kinds(FileState::LINK), (false, true));
        assert!(!FileState::unknown(0o100_644).is_known());
    }
}
