//! How many files and connections the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as every system lets a process ask for.
const ENOUGH: u64 = 10_240;

/// Makes room for as many connections as a tree may have: a process is usually allowed far
/// more than it starts with. Where it is not, calls that find no room are tried again.
pub(crate) fn make_room() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
