//! What is protected and not there.
//!
//! A sandbox can make a file read-only only if there is one. So what must not be made is made
//! beforehand, such that it says nothing, and taken away by the last command that needs it. Some
//! files cannot be kept free in this way: other programs would read them. If one is made
//! meanwhile, it is moved aside, and so is what steers git in a repository that has been made
//! ([`newcomers`]), and what was replaced by something that says more ([`kept`](super::kept)).

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write as _},
    mem,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::Duration,
};

use rustix::fs::renameat;

use super::{Policy, Steering, kept::Kept, newcomers, policy::is_in};
use crate::handle::{self, DIRECTORY};

/// By its mode what was made here is known, also after a crash.
const MODE: u32 = 0o711;
/// What is made where there must be no other, and what a file says: that a repository's common
/// files are its own, and no settings.
const COVERS: [(&str, Option<&str>); 4] = [
    (".adjutant", None),
    ("hooks", None),
    ("commondir", Some(".\n")),
    ("config.worktree", Some("")),
];
/// How often somebody else is given time to take his directory away.
const TRIES: usize = 100;
/// How long each time.
const PAUSE: Duration = Duration::from_millis(5);

/// Keeps free what is protected and not there. To be held from before a command is wrapped
/// until all its processes are gone.
#[derive(Debug)]
pub struct Guard {
    /// What stands in the way, each with a lock that tells others so.
    covers: Vec<(PathBuf, File)>,
    /// Files that must not be there.
    absent: Vec<PathBuf>,
    /// What was there, and must not say more.
    kept: Vec<Arc<Kept>>,
    /// What was there.
    before: Steering,
    /// Where more may have come.
    places: Vec<PathBuf>,
}

impl Guard {
    /// Begins to keep free what a policy protects. Looks through files, and so may take a while.
    pub fn of(policy: &Policy) -> Self {
        let mut guard = Self {
            covers: Vec::new(),
            absent: Vec::new(),
            kept: Vec::new(),
            before: policy.steering.clone(),
            places: policy.writable.clone(),
        };
        // What a command does not see it does not change.
        let seen = policy.protected.iter().filter(|path| !is_in(path, &policy.hidden));
        for path in seen {
            let text = COVERS.iter().find(|(name, _)| path.ends_with(name)).map(|(_, text)| *text);
            // Where this fails, a command cannot make it either.
            let lock = text.and_then(|text| cover(path, text).ok().flatten());
            if let Some(lock) = lock {
                guard.covers.push((path.clone(), lock));
            } else if exists(path) {
                // What is in there comes and goes with the trees, and is looked at in the end.
                let is_steady = !path.ends_with("worktrees");
                guard.kept.extend(is_steady.then(|| Kept::of(path)).flatten());
            } else {
                guard.absent.push(path.clone());
            }
        }
        guard
    }

    /// Looks whether something of what is kept has been replaced or made meanwhile, moves it
    /// aside, and returns a sentence for each. Looks at nothing else, and so takes no time.
    pub fn check(&self) -> Vec<String> {
        let uncovered = self.covers.iter().filter(|(path, lock)| !is_still(lock, path));
        let absent = self.absent.iter().chain(uncovered.map(|(path, _)| path));
        let made = absent
            .filter(|path| exists(path) && !is_cover(path))
            .map(|path| evict(path, "appeared"));
        let replaced = self.kept.iter().filter_map(|kept| kept.check(&self.places));
        made.chain(replaced).collect()
    }

    /// Clears up, and returns a sentence for each file that was moved aside. Looks through
    /// files, and so may take a while.
    pub fn end(mut self) -> Vec<String> {
        self.clear()
    }

    fn clear(&mut self) -> Vec<String> {
        let mut told = self.check();
        (self.absent, self.kept) = (Vec::new(), Vec::new());
        let mut found = newcomers::find(&self.before, &mem::take(&mut self.places));
        for (path, lock) in self.covers.drain(..) {
            if !is_still(&lock, &path) {
                found.extend(exists(&path).then_some(path));
                continue;
            }
            if lock.try_lock().is_ok() {
                // It stays if somebody has put something there. The command cannot have.
                let _ = if path.is_dir() { fs::remove_dir(&path) } else { remove(&path) };
            }
            found.retain(|it| *it != path);
        }
        // One for a command with another scope says nothing.
        found.retain(|path| !is_cover(path));
        found.sort();
        found.dedup();
        told.extend(found.iter().map(|path| evict(path, "appeared")));
        told
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Makes what stands in the way, or returns `None` if there is something that was not made here.
fn cover(path: &Path, text: Option<&str>) -> io::Result<Option<File>> {
    match make(path, text) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(MODE))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !is_own(path) || text.is_some_and(|text| !says(path, text)) {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    }
    let own = File::open(path)?;
    // Whoever had it before may be about to take it away.
    for _ in 0..TRIES {
        if own.try_lock_shared().is_ok() {
            return if is_still(&own, path) { Ok(Some(own)) } else { cover(path, text) };
        }
        thread::sleep(PAUSE);
    }
    // Somebody holds on to it, so it stays, and is as good as one that was made here.
    Ok(None)
}

fn make(path: &Path, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else { return DirBuilder::new().mode(MODE).create(path) };
    // Nobody may see one that is not finished.
    let new =
        path.with_added_extension(format!("new-{}-{:?}", process::id(), thread::current().id()));
    let made = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(MODE))?;
        fs::hard_link(&new, path)
    })();
    let _ = fs::remove_file(new);
    made
}

/// Takes a file away, unless somebody has written something else there.
fn remove(path: &Path) -> io::Result<()> {
    if is_cover(path) { fs::remove_file(path) } else { Ok(()) }
}

/// Reports whether there is something that was made here, and says nothing.
pub(crate) fn is_cover(path: &Path) -> bool {
    let texts = COVERS.iter().filter(|(name, _)| path.ends_with(name)).map(|(_, text)| *text);
    let says_nothing = |text: Option<&str>| match text {
        Some(text) => says(path, text),
        None => is_empty(path),
    };
    is_own(path) && texts.into_iter().any(says_nothing)
}

/// Reports whether there is something that was made here.
fn is_own(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| !found.is_symlink() && found.permissions().mode() & 0o7777 == MODE)
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

fn says(file: &Path, text: &str) -> bool {
    fs::read(file).is_ok_and(|found| found == text.as_bytes())
}

/// Reports whether something is still where it was.
fn is_still(own: &File, path: &Path) -> bool {
    let about = own.metadata().and_then(|own| Ok((own, fs::symlink_metadata(path)?)));
    about.is_ok_and(|(own, found)| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// Moves something aside, and tells so, and how it got there.
pub(super) fn evict(path: &Path, how: &str) -> String {
    let shown = path.display();
    let mut names = (1..).map(|number| path.with_added_extension(format!("refused-{number}")));
    let moved = names.find(|name| !exists(name)).and_then(|name| {
        // Through a handle: a link on the way was put there since.
        let directory = handle::plain(path.parent()?, DIRECTORY).ok()?;
        renameat(&directory, path.file_name()?, &directory, name.file_name()?).ok()?;
        Some(name)
    });
    match moved {
        Some(name) => format!(
            "`{shown}` {how} while the command ran and would steer git, Adjutant or a \
             program of yours outside the sandbox: it was moved to `{}`; a person may move it back",
            name.display()
        ),
        None => format!(
            "`{shown}` {how} while the command ran, steers git, Adjutant or a program \
             of yours, and could not be moved away: look at it before you go on"
        ),
    }
}

pub(super) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{
        super::{Network, steering::MOST},
        *,
    };

    fn policy(place: impl AsRef<Path>) -> Policy {
        let workdir = place.as_ref().to_owned();
        let protected = [".adjutant", ".mcp.json", "commondir"].map(|name| workdir.join(name));
        let (writable, hidden) = (vec![workdir.clone()], vec![]);
        let steering = Steering::find(&writable, MOST);
        let (protected, network) = (protected.to_vec(), Network::Off);
        Policy {
            writable,
            protected,
            steering,
            hidden,
            sockets: Default::default(),
            network,
            workdir,
        }
    }

    fn names(place: &TempDir) -> Vec<String> {
        let names = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_last_one_takes_the_directory_away() {
        let place = tempfile::tempdir().unwrap();
        let guards = [Guard::of(&policy(&place)), Guard::of(&policy(&place))];
        let [first, last] = guards;
        assert_eq!(first.end(), [""; 0]);
        assert_eq!(names(&place), [".adjutant", "commondir"]);
        drop(last);
        assert_eq!(names(&place), [""; 0]);
    }

    #[test]
    fn what_a_command_with_a_narrower_scope_needs_is_left_to_it() {
        let place = tempfile::tempdir().unwrap();
        let narrow = place.path().join("sub");
        fs::create_dir(&narrow).unwrap();
        let guards = [Guard::of(&policy(&place)), Guard::of(&policy(&narrow))];
        let [wide, _narrow] = guards;
        assert_eq!(wide.end(), [""; 0]);
        assert!(narrow.join(".adjutant").exists());
    }

    #[test]
    fn what_a_crash_left_is_taken_away_the_next_time() {
        let place = tempfile::tempdir().unwrap();
        DirBuilder::new().mode(MODE).create(place.path().join(".adjutant")).unwrap();
        Guard::of(&policy(&place)).end();
        assert_eq!(names(&place), [""; 0]);
    }

    #[test]
    fn what_was_there_or_was_filled_stays() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join(".adjutant");
        fs::create_dir(&own).unwrap();
        fs::write(place.path().join(".mcp.json"), "{}").unwrap();
        Guard::of(&policy(&place)).end();
        assert_eq!(names(&place), [".adjutant", ".mcp.json"]);
        fs::remove_dir(&own).unwrap();
        let guard = Guard::of(&policy(&place));
        fs::write(own.join("config.toml"), "").unwrap();
        assert_eq!(guard.end(), [""; 0]);
        assert!(own.join("config.toml").exists());
    }

    #[test]
    fn a_directory_that_another_took_the_place_of_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join(".adjutant");
        let directory = cover(&own, None).unwrap().unwrap();
        assert!(is_still(&directory, &own));
        fs::rename(&own, place.path().join("old")).unwrap();
        assert!(!is_still(&directory, &own));
        fs::create_dir(&own).unwrap();
        assert!(!is_still(&directory, &own));
    }

    #[test]
    fn somebody_who_holds_on_to_a_directory_holds_nobody_up() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join(".adjutant");
        let directory = cover(&own, None).unwrap().unwrap();
        directory.lock().unwrap();
        assert!(cover(&own, None).unwrap().is_none());
    }

    #[test]
    fn a_file_that_appeared_is_moved_aside_and_nothing_is_lost() {
        let place = tempfile::tempdir().unwrap();
        for content in ["first", "second"] {
            let guard = Guard::of(&policy(&place));
            assert_eq!(guard.check(), [""; 0]);
            fs::write(place.path().join(".mcp.json"), content).unwrap();
            let [sentence] = &guard.check()[..] else { panic!("it was not noticed") };
            assert!(sentence.contains(".mcp.json.refused-"), "{sentence}");
            assert_eq!(guard.end(), [""; 0]);
        }
        assert_eq!(names(&place), [".mcp.json.refused-1", ".mcp.json.refused-2"]);
        let second = fs::read_to_string(place.path().join(".mcp.json.refused-2")).unwrap();
        assert_eq!(second, "second");
    }

    #[test]
    fn a_file_that_git_would_follow_leads_nowhere_while_it_is_kept_free() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("commondir");
        let guards = [Guard::of(&policy(&place)), Guard::of(&policy(&place))];
        assert_eq!(fs::read_to_string(&own).unwrap(), ".\n");
        let [first, last] = guards;
        assert_eq!(first.end(), [""; 0]);
        assert_eq!(names(&place), [".adjutant", "commondir"]);
        fs::remove_file(&own).unwrap();
        fs::write(&own, "evil").unwrap();
        assert_eq!(last.check().len(), 1);
        assert_eq!(last.end(), [""; 0]);
        assert_eq!(names(&place), ["commondir.refused-1"]);
    }
}
