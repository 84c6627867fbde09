//! What is protected and not there.
//!
//! A sandbox can make a file read-only only if there is one. So a directory that must not be
//! made is made beforehand, empty, and taken away by the last command that needs it. A file
//! cannot be kept free in this way: other programs would read it. If one has been made
//! meanwhile, it is moved aside when the command has ended.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::Policy;

/// By its mode a directory that was made here is known, also after a crash.
const MODE: u32 = 0o711;

/// Keeps free what is protected and not there. To be held from before a command is wrapped
/// until all its processes are gone.
#[derive(Debug)]
pub struct Guard {
    /// Directories that stand in the way, each with a lock that tells others so.
    covers: Vec<(PathBuf, File)>,
    /// Files that must not be there.
    absent: Vec<PathBuf>,
}

impl Guard {
    /// Begins to keep free what a policy protects.
    pub fn of(policy: &Policy) -> Self {
        let is_cover = |path: &&PathBuf| path.ends_with(".adjutant") || path.ends_with("hooks");
        let (directories, files): (Vec<_>, Vec<_>) = policy.protected.iter().partition(is_cover);
        let covers = directories.into_iter().filter_map(|path| {
            // Where this fails, a command cannot make it either.
            let lock = cover(path).ok().flatten()?;
            Some((path.clone(), lock))
        });
        let absent = files.into_iter().filter(|path| !exists(path)).cloned();
        Self { covers: covers.collect(), absent: absent.collect() }
    }

    /// Clears up, and returns a sentence for each file that was moved aside.
    pub fn end(mut self) -> Vec<String> {
        self.clear()
    }

    fn clear(&mut self) -> Vec<String> {
        for (path, lock) in self.covers.drain(..) {
            if lock.try_lock().is_ok() {
                // It stays if somebody has put something there.
                let _ = fs::remove_dir(path);
            }
        }
        self.absent.drain(..).filter(|path| exists(path)).map(|path| evict(&path)).collect()
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
            let found = fs::symlink_metadata(path)?;
            if !found.is_dir() || found.permissions().mode() & 0o7777 != MODE {
                return Ok(None);
            }
        }
        Err(error) => return Err(error),
    }
    let directory = File::open(path)?;
    directory.lock_shared()?;
    // Whoever had it before may have taken it away while this one waited.
    if exists(path) { Ok(Some(directory)) } else { cover(path) }
}

fn evict(path: &Path) -> String {
    let shown = path.display();
    let names = (1..).map(|number| path.with_added_extension(format!("refused-{number}")));
    let moved = names.into_iter().find(|name| !exists(name)).map(|name| {
        let moved = fs::rename(path, &name);
        (name, moved)
    });
    match moved {
        Some((name, Ok(()))) => format!(
            "`{shown}` appeared while the command ran and would steer git or Adjutant: it was \
             moved to `{}`",
            name.display()
        ),
        _ => format!(
            "`{shown}` appeared while the command ran, steers git or Adjutant, and could not be \
             moved away: look at it before you go on"
        ),
    }
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::{super::Network, *};

    fn policy(place: &TempDir) -> Policy {
        let protected = [".adjutant", ".mcp.json", "commondir"].map(|name| place.path().join(name));
        let workdir = place.path().to_owned();
        let (writable, hidden) = (vec![workdir.clone()], vec![]);
        Policy { writable, protected: protected.to_vec(), hidden, network: Network::Off, workdir }
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
