//! What is protected and not there.
//!
//! A sandbox can make a file read-only only if there is one. So a directory that must not be
//! made is made beforehand, empty, and taken away by the last command that needs it. A file
//! cannot be kept free in this way: other programs would read it. If one has been made
//! meanwhile, it is moved aside when the command has ended, and so is what steers git in a
//! repository that has been made ([`newcomers`]).

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io, mem,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::fs::renameat;

use super::{Policy, Steering, newcomers};
use crate::handle::{self, DIRECTORY};

/// By its mode a directory that was made here is known, also after a crash.
const MODE: u32 = 0o711;
/// How often somebody else is given time to take his directory away.
const TRIES: usize = 100;
/// How long each time.
const PAUSE: Duration = Duration::from_millis(5);

/// Keeps free what is protected and not there. To be held from before a command is wrapped
/// until all its processes are gone.
#[derive(Debug)]
pub struct Guard {
    /// Directories that stand in the way, each with a lock that tells others so.
    covers: Vec<(PathBuf, File)>,
    /// Files that must not be there.
    absent: Vec<PathBuf>,
    /// What was there.
    before: Steering,
    /// Where more may have come.
    places: Vec<PathBuf>,
}

impl Guard {
    /// Begins to keep free what a policy protects. Looks through files, and so may take a while.
    pub fn of(policy: &Policy) -> Self {
        let is_cover = |path: &&PathBuf| path.ends_with(".adjutant") || path.ends_with("hooks");
        let (directories, files): (Vec<_>, Vec<_>) = policy.protected.iter().partition(is_cover);
        let covers = directories.into_iter().filter_map(|path| {
            // Where this fails, a command cannot make it either.
            let lock = cover(path).ok().flatten()?;
            Some((path.clone(), lock))
        });
        let absent = files.into_iter().filter(|path| !exists(path)).cloned();
        let (before, places) = (policy.steering.clone(), policy.writable.clone());
        Self { covers: covers.collect(), absent: absent.collect(), before, places }
    }

    /// Clears up, and returns a sentence for each file that was moved aside. Looks through
    /// files, and so may take a while.
    pub fn end(mut self) -> Vec<String> {
        self.clear()
    }

    fn clear(&mut self) -> Vec<String> {
        let mut found = newcomers::find(&self.before, &mem::take(&mut self.places));
        for (path, lock) in self.covers.drain(..) {
            if lock.try_lock().is_ok() && is_still(&lock, &path) {
                // It stays if somebody has put something there. The command cannot have.
                let _ = fs::remove_dir(&path);
            }
            found.retain(|it| *it != path);
        }
        found.extend(self.absent.drain(..).filter(|path| exists(path)));
        // One for a command with another scope has nothing in it.
        found.retain(|path| !(is_own(path) && is_empty(path)));
        found.sort();
        found.dedup();
        found.iter().map(|path| evict(path)).collect()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Makes a directory, or returns `None` if there is something that was not made here.
fn cover(path: &Path) -> io::Result<Option<File>> {
    match DirBuilder::new().mode(MODE).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(MODE))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !is_own(path) {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    }
    let directory = File::open(path)?;
    // Whoever had it before may be about to take it away.
    for _ in 0..TRIES {
        if directory.try_lock_shared().is_ok() {
            return if is_still(&directory, path) { Ok(Some(directory)) } else { cover(path) };
        }
        thread::sleep(PAUSE);
    }
    // Somebody holds on to it, so it stays, and is as good as one that was made here.
    Ok(None)
}

/// Reports whether there is a directory that was made here.
fn is_own(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o7777 == MODE)
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Reports whether a directory is still where it was.
fn is_still(directory: &File, path: &Path) -> bool {
    let about = directory.metadata().and_then(|own| Ok((own, fs::symlink_metadata(path)?)));
    about.is_ok_and(|(own, found)| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// Moves something aside, and tells so.
fn evict(path: &Path) -> String {
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
            "`{shown}` appeared while the command ran and would steer git or Adjutant outside \
             the sandbox: it was moved to `{}`; a person may move it back",
            name.display()
        ),
        None => format!(
            "`{shown}` appeared while the command ran, steers git or Adjutant, and could not be \
             moved away: look at it before you go on"
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
        Policy { writable, protected, steering, hidden, network, workdir }
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
        assert_eq!(names(&place), [".adjutant"]);
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
        let directory = cover(&own).unwrap().unwrap();
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
        let directory = cover(&own).unwrap().unwrap();
        directory.lock().unwrap();
        assert!(cover(&own).unwrap().is_none());
    }

    #[test]
    fn a_file_that_appeared_is_moved_aside_and_nothing_is_lost() {
        let place = tempfile::tempdir().unwrap();
        for content in ["first", "second"] {
            let guard = Guard::of(&policy(&place));
            fs::write(place.path().join("commondir"), content).unwrap();
            let [sentence] = &guard.end()[..] else { panic!("it was not noticed") };
            assert!(sentence.contains("commondir.refused-"), "{sentence}");
        }
        assert_eq!(names(&place), ["commondir.refused-1", "commondir.refused-2"]);
        let second = fs::read_to_string(place.path().join("commondir.refused-2")).unwrap();
        assert_eq!(second, "second");
    }
}
