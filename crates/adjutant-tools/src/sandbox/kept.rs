//! What is protected and there, as it was when a command began.
//!
//! A mount holds a file as long as nobody replaces it: an editor, or `git config`, that writes a
//! new one and moves it there takes the mount in the sandbox away with the old one. So it is
//! remembered what there was, and what a command may have made of the new one is put right.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink,
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::SystemTime,
};

use super::{git_config, guard::evict};

/// How many pieces are remembered of one thing.
const MOST: usize = 1000;
/// How many bytes.
const LONGEST: u64 = 4 * 1024 * 1024;

/// What is remembered. Commands that run at the same time remember the same, so that what one
/// has made is not what was there before to the next.
static KNOWN: Mutex<BTreeMap<PathBuf, Weak<Kept>>> = Mutex::new(BTreeMap::new());
/// Held by whoever looks.
static LOOKING: Mutex<()> = Mutex::new(());

/// Something that is protected and there.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    identity: Option<Identity>,
    before: Picture,
    /// Whether somebody knows what cannot be put right.
    was_told: AtomicBool,
}

/// A file or directory. One that takes the number of one that is gone is born later.
#[derive(Debug, PartialEq, Eq)]
struct Identity(u64, u64, Option<SystemTime>);

/// What something is, and all that is in it, by the path from there. Nothing if that is too much.
type Picture = Option<BTreeMap<PathBuf, Piece>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Directory(u32),
}

impl Kept {
    /// Remembers what is at a path, if anything is.
    pub(super) fn of(path: &Path) -> Option<Arc<Self>> {
        let identity = identity(path)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, kept| kept.strong_count() > 0);
        let kept = known.get(path).and_then(Weak::upgrade).unwrap_or_else(|| {
            let before = picture(path);
            let (path, was_told) = (path.to_owned(), AtomicBool::new(false));
            Arc::new(Self { path, identity: Some(identity), before, was_told })
        });
        known.insert(path.to_owned(), Arc::downgrade(&kept));
        Some(kept)
    }

    /// Puts right what may have been made of it, and tells so.
    pub(super) fn check(&self, places: &[PathBuf]) -> Option<String> {
        let now = identity(&self.path);
        if now.is_none() || now == self.identity {
            return None;
        }
        let _alone = LOOKING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = &self.before else {
            return (!self.was_told.swap(true, Relaxed)).then(|| format!(
                "`{}` was replaced while the command ran, which could change it then: look at it \
                 before you go on",
                self.path.display()
            ));
        };
        if !self.has_more(before, places) {
            return None;
        }
        let moved = evict(&self.path, "was replaced");
        Some(match restore(&self.path, before) {
            Ok(()) => format!("{moved}; what was there before is there again"),
            Err(error) => format!("{moved}; what was there before could not be put back: {error}"),
        })
    }

    /// Reports whether there is anything that was not there before.
    fn has_more(&self, before: &BTreeMap<PathBuf, Piece>, places: &[PathBuf]) -> bool {
        let Some(now) = picture(&self.path) else { return true };
        let is_settings = self.path.ends_with("config") || self.path.ends_with("config.worktree");
        if let ([Piece::File(old, _)], [Piece::File(new, _)]) = (&*pieces(before), &*pieces(&now))
            && is_settings
        {
            return !git_config::adds_only_harmless(old, new, &self.path, places);
        }
        now.iter().any(|(name, piece)| before.get(name) != Some(piece))
    }
}

fn pieces(picture: &BTreeMap<PathBuf, Piece>) -> Vec<&Piece> {
    picture.values().collect()
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Identity(found.dev(), found.ino(), found.created().ok()))
}

fn picture(path: &Path) -> Picture {
    let (mut pieces, mut waiting, mut length) = (BTreeMap::new(), vec![PathBuf::new()], 0);
    while let Some(name) = waiting.pop() {
        let at = if name.as_os_str().is_empty() { path.to_owned() } else { path.join(&name) };
        let Ok(found) = fs::symlink_metadata(&at) else { continue };
        if found.is_dir() {
            let entries = fs::read_dir(&at).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| name.join(entry.file_name())));
        }
        length += found.len();
        if pieces.len() + waiting.len() > MOST || length > LONGEST {
            return None;
        }
        pieces.insert(name, piece(&at, &found)?);
    }
    Some(pieces)
}

fn piece(path: &Path, found: &Metadata) -> Option<Piece> {
    let mode = found.mode() & 0o7777;
    if found.is_dir() {
        Some(Piece::Directory(mode))
    } else if found.is_symlink() {
        fs::read_link(path).ok().map(Piece::Link)
    } else if found.is_file() {
        fs::read(path).ok().map(|bytes| Piece::File(bytes, mode))
    } else {
        None
    }
}

/// Puts something back where nothing is.
fn restore(path: &Path, pieces: &BTreeMap<PathBuf, Piece>) -> io::Result<()> {
    // What lies further down comes later.
    for (name, piece) in pieces {
        let at = if name.as_os_str().is_empty() { path.to_owned() } else { path.join(name) };
        match piece {
            Piece::File(bytes, mode) => {
                let mut file =
                    OpenOptions::new().write(true).create_new(true).mode(0o600).open(at)?;
                file.write_all(bytes)?;
                file.set_permissions(Permissions::from_mode(*mode))?;
            }
            Piece::Link(target) => symlink(target, at)?,
            Piece::Directory(mode) => fs::DirBuilder::new().mode(*mode).create(at)?,
        }
    }
    Ok(())
}

/// Files that are run outside the sandbox, as they were when a run began.
#[derive(Debug, Default)]
pub struct Seals(BTreeMap<PathBuf, Picture>);

impl Seals {
    /// Remembers files.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let files = paths.into_iter().filter(|path| !path.is_dir());
        Self(files.map(|path| (path.clone(), picture(&path))).collect())
    }

    /// Returns an error if one of the files is not what it was.
    pub fn check(&self) -> Result<(), String> {
        let mut changed = self.0.iter().filter(|(path, before)| picture(path) != **before);
        let Some((path, _)) = changed.next() else { return Ok(()) };
        let path = path.display();
        Err(format!("`{path}` has changed since the run began: check it, and start again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces a file as editors do.
    fn replace(path: &Path, text: &str) {
        let new = path.with_added_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, path).unwrap();
    }

    fn world(name: &str, text: &str) -> (tempfile::TempDir, PathBuf, Arc<Kept>) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join(name);
        fs::write(&path, text).unwrap();
        let kept = Kept::of(&path).unwrap();
        (place, path, kept)
    }

    #[test]
    fn what_replaced_a_file_is_moved_aside_and_the_file_put_back() {
        let (_place, path, kept) = world("hook.sh", "old");
        assert_eq!(kept.check(&[]), None);
        replace(&path, "new");
        // Whoever comes later does not take it for what was there before.
        let later = Kept::of(&path).unwrap();
        let told = kept.check(&[]).unwrap();
        assert!(told.contains("hook.sh.refused-1") && told.contains("again"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_to_string(path.with_added_extension("refused-1")).unwrap(), "new");
        assert_eq!(later.check(&[]), None);
        replace(&path, "new");
        assert!(later.check(&[]).is_some());
    }

    #[test]
    fn what_is_the_same_or_less_or_was_changed_where_it_is_stays() {
        let (_place, path, kept) = world("config", "[user]\nname = A\n[core]\npager = less\n");
        replace(&path, "[core]\npager = less\n[branch \"a\"]\nremote = b\n");
        assert_eq!(kept.check(&[]), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(kept.check(&[]), None);
        let (_place, path, kept) = world("hook.sh", "old");
        fs::write(&path, "new").unwrap();
        assert_eq!(kept.check(&[]), None);
    }

    #[test]
    fn settings_that_run_a_program_do_not_stay() {
        let (_place, path, kept) = world("config", "[core]\npager = less\n");
        replace(&path, "[core]\npager = less\nfsmonitor = evil\n");
        assert!(kept.check(&[]).is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[core]\npager = less\n");
    }

    #[test]
    fn a_directory_is_put_back_with_all_that_was_in_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("hooks");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "a").unwrap();
        let kept = Kept::of(&path).unwrap();
        fs::rename(&path, place.path().join("away")).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(kept.check(&[]), None, "less is no harm");
        fs::write(path.join("evil"), "").unwrap();
        assert!(kept.check(&[]).is_some());
        assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "a");
        assert!(!path.join("evil").exists());
    }

    #[test]
    fn a_seal_is_broken_by_any_change() {
        let (_place, path, _kept) = world("hook.sh", "old");
        let seals = Seals::of([path.clone()]);
        assert_eq!(seals.check(), Ok(()));
        fs::write(&path, "new").unwrap();
        assert!(seals.check().unwrap_err().contains("has changed since the run began"));
    }
}
