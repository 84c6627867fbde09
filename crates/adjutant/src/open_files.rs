//! How many files and connections the process may have open.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as every system lets a process ask for.
const ENOUGH: u64 = 10_240;

/// How many it was before room was made.
static FORMER: OnceLock<u64> = OnceLock::new();

/// Makes room for as many connections as a tree may have: a process is usually allowed far
/// more than it starts with. Where it is not, calls that find no room are tried again.
pub(crate) fn make_room() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    if let Some(current) = current.filter(|current| *current < wanted) {
        let _ = FORMER.set(current);
        allow(wanted);
    }
}

/// Returns how many the process started with, if it made room for more. Programs are not to
/// have that room: some close all the files they could have.
pub(crate) fn former() -> Option<u64> {
    FORMER.get().copied()
}

/// Allows this process, and those it starts, so many.
pub(crate) fn allow(count: u64) {
    let limit = Rlimit { current: Some(count), ..getrlimit(Resource::Nofile) };
    let _ = setrlimit(Resource::Nofile, limit);
}
