//! What is known of one file.

use std::{
    fs::{self, Metadata},
    io::{self, Read as _},
    os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use adjutant_core::{Change, Digest, FileState};

use super::pack::Pack;
use crate::{files::Stamp, handle};

/// How exactly the system knows when something changed, and more.
pub(super) const MARGIN: Duration = Duration::from_millis(20);

/// What is known of one file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    stamp: Stamp,
    mode: u32,
    /// When anything of it was changed last.
    pub(super) changed: SystemTime,
    pub(super) held: Held,
}

/// What a file held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// A content, which the pack has.
    Content(Digest),
    /// The path of something else.
    Link(Arc<[u8]>),
    /// Nobody knows, for this reason.
    Unknown(String),
}

impl Entry {
    /// Looks at a file, unless it is still what it was. Nothing is what is neither a file nor a
    /// link, or not there.
    pub(super) fn look(
        path: &Path,
        known: Option<&Self>,
        pack: &mut Pack,
    ) -> io::Result<Option<Self>> {
        let start = SystemTime::now();
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(None) };
        let stamp = Stamp::of(&metadata);
        // What changed just before it was read may have changed again without a trace.
        let is_same = |known: &&Self| {
            known.stamp == stamp && known.changed + MARGIN < start && known.mode == metadata.mode()
        };
        if let Some(known) = known.filter(is_same) {
            return Ok(Some(known.clone()));
        }
        let held = if metadata.is_symlink() {
            let Ok(target) = fs::read_link(path) else { return Ok(None) };
            Held::Link(target.into_os_string().into_vec().into())
        } else if metadata.is_file() {
            read(path, pack)?
        } else {
            return Ok(None);
        };
        Ok(Some(Self { stamp, mode: metadata.mode(), changed: changed(&metadata), held }))
    }

    /// Reports whether another is the same to anyone who looks.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let is_known = !matches!(self.held, Held::Unknown(_));
        self.mode == other.mode
            && self.held == other.held
            && (is_known || self.stamp == other.stamp)
    }

    /// Returns what could be put back, or why nothing can.
    pub(super) fn former(&self, pack: &Pack) -> io::Result<(FileState, Arc<[u8]>)> {
        let (digest, content) = match &self.held {
            Held::Content(digest) => (digest.clone(), pack.fetch(digest)?.into()),
            Held::Link(target) => (Digest::of(target), Arc::clone(target)),
            Held::Unknown(why) => return Err(io::Error::other(why.clone())),
        };
        Ok((FileState { digest, bytes: content.len() as u64, mode: self.mode }, content))
    }
}

fn read(path: &Path, pack: &mut Pack) -> io::Result<Held> {
    let mut content = Vec::new();
    let most = Change::LARGEST as u64;
    let read =
        handle::open(path).and_then(|(file, _)| file.take(most + 1).read_to_end(&mut content));
    match read {
        Err(error) => Ok(Held::Unknown(error.to_string())),
        Ok(length) if length > Change::LARGEST => {
            Ok(Held::Unknown(format!("it has more than {most} bytes")))
        }
        Ok(_) => Ok(Held::Content(pack.keep(&content)?)),
    }
}

/// Returns when anything of a file was changed last.
fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanos)
}
