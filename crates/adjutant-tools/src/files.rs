//! What a tree of agents knows of files: who saw which version, who changed it last, and
//! whose turn it is to write.

use std::{
    collections::HashMap,
    fmt,
    fs::Metadata,
    hash::{BuildHasher as _, RandomState},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use adjutant_core::AgentPath;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The most files something is known of. What is forgotten has to be read again.
const MOST_FILES: usize = 4096;
/// The most agents that are known to have seen one file.
const MOST_READERS: usize = 64;

/// What a tree of agents knows of files. One for all of its tools.
#[derive(Debug, Default)]
pub struct Files {
    /// Keyed by chance, so that nobody can make two contents that look the same; and quick:
    /// it takes less than a tenth of the time it takes to number the lines that are shown.
    hasher: RandomState,
    known: Mutex<Known>,
}

/// A version of a file, as somebody saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// All of it was seen: this is its hash.
    Whole(u64),
    /// Some of it was seen. To hash the rest it would have to be read, so this is what the
    /// system knows of it.
    Part(Stamp),
}

/// What the system knows of a version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, file, and when anything of it was changed.
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Stamp {
    /// Returns the stamp of a file.
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns when anything of the file was changed last.
    #[cfg(unix)]
    pub(crate) fn changed(&self) -> SystemTime {
        let (_, _, seconds, nanos) = self.inode;
        let since = (seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
        SystemTime::UNIX_EPOCH + Duration::new(since.0, since.1)
    }
}

/// What is at a path now.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// All of it.
    pub content: &'a [u8],
    /// What the system knows of it.
    pub stamp: Option<&'a Stamp>,
}

/// Why an agent may not change a file yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stale {
    /// It has not read it.
    Unread,
    /// It was changed since.
    Changed(By),
    /// It was deleted since.
    Gone(By),
}

/// Who changed a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// An agent of the tree.
    Agent(AgentPath),
    /// Somebody else.
    Outside,
}

/// The turn to change a file. Nobody else of the tree changes it until this is dropped.
#[derive(Debug)]
pub struct MyTurn {
    _turn: OwnedMutexGuard<()>,
}

#[derive(Debug, Default)]
struct Known {
    files: HashMap<PathBuf, File>,
    uses: u64,
}

#[derive(Debug, Default)]
struct File {
    turn: Arc<Turn<()>>,
    /// Who saw what, the latest last.
    seen: Vec<(AgentPath, Version)>,
    /// Who of the tree changed it last, and to what; `None` if it was deleted.
    changed: Option<(AgentPath, Option<u64>)>,
    /// Whether a tool did that since the files were last looked at.
    is_new: bool,
    used: u64,
}

impl Files {
    /// Waits for the turn to change a file.
    pub async fn turn(&self, path: &Path) -> MyTurn {
        let turn = Arc::clone(&self.known().file(path).turn);
        MyTurn { _turn: turn.lock_owned().await }
    }

    /// Returns the version that a whole content is.
    pub fn whole(&self, content: &[u8]) -> Version {
        Version::Whole(self.hasher.hash_one(content))
    }

    /// Notes that an agent saw a version of a file.
    pub fn saw(&self, agent: &AgentPath, path: &Path, version: Version) {
        self.known().file(path).saw(agent, version);
    }

    /// Notes that an agent changed a file, to a content or to nothing. It knows that version.
    pub fn wrote(&self, agent: &AgentPath, path: &Path, content: Option<&[u8]>) {
        let hash = content.map(|content| self.hasher.hash_one(content));
        let mut known = self.known();
        let file = known.file(path);
        file.seen.retain(|(reader, _)| reader != agent);
        if let Some(hash) = hash {
            file.saw(agent, Version::Whole(hash));
        }
        file.changed = Some((agent.clone(), hash));
        file.is_new = true;
    }

    /// Notes that a command of an agent's changed a file, which need not have seen that.
    pub fn ran_over(&self, agent: &AgentPath, path: &Path, content: Option<&[u8]>) {
        let hash = content.map(|content| self.hasher.hash_one(content));
        self.known().file(path).changed = Some((agent.clone(), hash));
    }

    /// Reports whether it was a tool that made a file what it is, since the files were last
    /// looked at.
    pub fn is_by_tool(&self, path: &Path, content: Option<&[u8]>) -> bool {
        let hash = content.map(|content| self.hasher.hash_one(content));
        let known = self.known();
        known.files.get(path).is_some_and(|file| {
            file.is_new && file.changed.as_ref().is_some_and(|(_, to)| *to == hash)
        })
    }

    /// Notes that the files are being looked at.
    pub fn look(&self, is_seen: impl Fn(&Path) -> bool) {
        let mut known = self.known();
        let seen = known.files.iter_mut().filter(|(path, _)| is_seen(path));
        seen.for_each(|(_, file)| file.is_new = false);
    }

    /// Reports whether what is at a path is what an agent saw there last. An agent that never
    /// saw it is told so, which matters where all of it is replaced.
    pub fn check(
        &self,
        agent: &AgentPath,
        path: &Path,
        current: Option<Current<'_>>,
    ) -> Result<(), Stale> {
        let hash = current.map(|current| self.hasher.hash_one(current.content));
        let mut known = self.known();
        let file = known.file(path);
        let seen = file.seen.iter().position(|(reader, _)| reader == agent);
        let by = || match &file.changed {
            Some((by, to)) if *to == hash => By::Agent(by.clone()),
            _ => By::Outside,
        };
        match (seen, current) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Stale::Unread),
            // Now it knows.
            (Some(seen), None) => {
                let by = by();
                file.seen.remove(seen);
                Err(Stale::Gone(by))
            }
            (Some(seen), Some(current)) => {
                let is_same = match &file.seen[seen].1 {
                    Version::Whole(seen) => Some(*seen) == hash,
                    Version::Part(seen) => Some(seen) == current.stamp,
                };
                if is_same { Ok(()) } else { Err(Stale::Changed(by())) }
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn file(&mut self, path: &Path) -> &mut File {
        self.uses += 1;
        if !self.files.contains_key(path) {
            self.make_room();
        }
        let file = self.files.entry(path.to_owned()).or_default();
        file.used = self.uses;
        file
    }

    /// Forgets the half that was used least recently, but for files that are being changed.
    fn make_room(&mut self) {
        if self.files.len() < MOST_FILES {
            return;
        }
        let mut uses: Vec<_> = self.files.values().map(|file| file.used).collect();
        let (_, median, _) = uses.select_nth_unstable(MOST_FILES / 2);
        let median = *median;
        self.files.retain(|_, file| file.used >= median || Arc::strong_count(&file.turn) > 1);
    }
}

impl File {
    fn saw(&mut self, agent: &AgentPath, version: Version) {
        self.seen.retain(|(reader, _)| reader != agent);
        if self.seen.len() == MOST_READERS {
            self.seen.remove(0);
        }
        self.seen.push((agent.clone(), version));
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread => f.write_str("is there and you have not read it: read it first"),
            Self::Changed(by) => write!(f, "changed since you read it, {by}: read it again"),
            Self::Gone(by) => {
                write!(f, "was deleted since you read it, {by}: to make it anew, try again")
            }
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => write!(f, "by `{agent}`"),
            Self::Outside => f.write_str("by somebody outside (a person or a command)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentPath {
        name.parse().unwrap()
    }

    fn now(content: &[u8]) -> Option<Current<'_>> {
        Some(Current { content, stamp: None })
    }

    #[test]
    fn whoever_changed_a_file_last_is_named() {
        let (files, path) = (Files::default(), Path::new("/a"));
        let (a, b, c) = (agent("root.a-1"), agent("root.b-1"), agent("root.c-1"));
        files.saw(&a, path, files.whole(b"1"));
        files.wrote(&b, path, Some(b"2"));
        files.wrote(&c, path, Some(b"3"));
        let stale = |agent, now| files.check(agent, path, now).unwrap_err();
        assert_eq!(stale(&a, now(b"3")), Stale::Changed(By::Agent(c.clone())));
        assert_eq!(stale(&b, now(b"3")), Stale::Changed(By::Agent(c.clone())));
        assert_eq!(files.check(&c, path, now(b"3")), Ok(()));
        // Since then somebody else wrote it, or wrote it as it was.
        assert_eq!(stale(&a, now(b"4")), Stale::Changed(By::Outside));
        assert_eq!(files.check(&a, path, now(b"1")), Ok(()));
        assert_eq!(stale(&a, None), Stale::Gone(By::Outside));
        assert_eq!(files.check(&a, path, None), Ok(()));
        assert_eq!(stale(&a, now(b"1")), Stale::Unread);
    }

    #[test]
    fn what_is_used_least_is_forgotten_first() {
        let (files, a) = (Files::default(), agent("root.a-1"));
        let path = |number: usize| PathBuf::from(format!("/{number}"));
        for number in 0..MOST_FILES {
            files.saw(&a, &path(number), files.whole(b"x"));
        }
        files.saw(&a, &path(0), files.whole(b"x"));
        files.saw(&a, Path::new("/new"), files.whole(b"x"));
        let is_known = |path: &Path| files.check(&a, path, now(b"x")) == Ok(());
        assert!(files.known().files.len() <= MOST_FILES / 2 + 1);
        assert!(is_known(&path(0)) && is_known(Path::new("/new")));
        assert!(is_known(&path(MOST_FILES - 1)) && !is_known(&path(1)));
        for number in 0..=MOST_READERS {
            files.saw(&agent(&format!("root.b-{}", number + 1)), &path(0), files.whole(b"x"));
        }
        assert_eq!(files.known().file(&path(0)).seen.len(), MOST_READERS);
        assert!(!is_known(&path(0)));
    }

    #[tokio::test]
    async fn a_file_that_is_being_changed_is_not_forgotten() {
        let (files, a) = (Files::default(), agent("root.a-1"));
        let turn = files.turn(Path::new("/mine")).await;
        for number in 0..MOST_FILES {
            files.saw(&a, &PathBuf::from(format!("/{number}")), files.whole(b"x"));
        }
        let next = Arc::clone(&files.known().file(Path::new("/mine")).turn);
        assert!(next.try_lock().is_err());
        drop(turn);
        assert!(next.try_lock().is_ok());
    }
}
