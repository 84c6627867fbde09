//! What Landlock holds: where a command writes, whom it signals, whom it calls.

use std::{
    error::Error,
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
};

use super::{
    Network,
    confine::{Fence, Orders},
    policy::is_in,
};

/// What must be there to hold a command alone: before, files could be cut off anywhere.
const LEAST: ABI = ABI::V3;
/// What is used of newer ones.
const MOST: ABI = ABI::V9;

/// Restricts this process and those it starts. Where nothing else holds the command, a kernel
/// that cannot is an error.
pub(super) fn apply(orders: &Orders) -> Result<(), Box<dyn Error>> {
    let mut rules = Ruleset::default();
    if orders.fence == Fence::Alone {
        rules = rules
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(LEAST))?
            .set_compatibility(CompatLevel::BestEffort);
        if orders.network == Network::Off {
            rules = rules.handle_access(AccessNet::from_all(MOST))?;
        }
    }
    if !orders.hidden.is_empty() {
        rules = rules.handle_access(AccessFs::ReadFile)?;
    }
    let mut rules =
        rules.handle_access(AccessFs::from_write(MOST))?.scope(Scope::from_all(MOST))?.create()?;
    if !orders.hidden.is_empty() {
        for place in readable(orders).iter().filter_map(|path| open(path).ok().flatten()) {
            rules = rules.add_rule(PathBeneath::new(place, AccessFs::ReadFile))?;
        }
    }
    for path in &orders.writable {
        if let Some(place) = open(path)? {
            let access = access(&place)?;
            rules = rules.add_rule(PathBeneath::new(place, access))?;
        }
    }
    rules.restrict_self()?;
    Ok(())
}

/// Returns all that can be read. What lies beside something hidden is named one by one: what
/// takes the place of the hidden, or is put there, is another thing and not among it.
fn readable(orders: &Orders) -> Vec<PathBuf> {
    let mut readable = orders.writable.clone();
    let mut waiting = vec![PathBuf::from("/")];
    while let Some(path) = waiting.pop() {
        let leads_to_hidden = orders.hidden.iter().any(|hidden| hidden.starts_with(&path));
        if !leads_to_hidden || is_in(&path, &orders.writable) {
            readable.push(path);
        } else if !orders.hidden.contains(&path) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_symlink()));
        }
    }
    readable
}

/// Opens a place, if it is there. There may be no link on the way: it could have been put
/// there since the policy was made.
fn open(path: &Path) -> Result<Option<OwnedFd>, Box<dyn Error>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::ACCESS) => Ok(None),
        Err(Errno::LOOP) => Err(format!("there is a link in `{}`", path.display()).into()),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

/// Returns all that can be done to a file or below a directory, but for making devices.
fn access(place: &OwnedFd) -> Result<BitFlags<AccessFs>, Errno> {
    let all = AccessFs::from_write(MOST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let is_directory = FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory;
    Ok(if is_directory { all } else { all & AccessFs::from_file(MOST) })
}
