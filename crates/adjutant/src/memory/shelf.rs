//! Where the memories of agents are.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use adjutant_core::Digest;
use adjutant_tools::resolve;

use super::book::Book;
use crate::{
    agents::{Definition, Owner},
    arguments::TapeArguments,
};

/// How the names of books end.
const ENDING: &str = ".jsonl";

/// What is between an agent's name and what tells its project from others.
const AT: char = '@';

/// How much of a digest tells projects apart.
const DIGITS: usize = 12;

/// Where projects' files may have memories, below the project.
const OF_PROJECTS: &str = ".adjutant/memory";

/// Whatever has one of these names steers git or the runtime.
const STEERING: [&str; 2] = [".git", ".adjutant"];

/// Where the memories of agents are, for one run.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Where they are usually, if there is a place for data.
    home: Option<PathBuf>,
    /// What relative paths in the person's own files start from; those in projects' start from the
    /// project.
    directory: PathBuf,
    pub(crate) tape: Tape,
    warnings: Mutex<BTreeSet<String>>,
}

/// Whether a run is like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tape {
    /// It is.
    Off,
    /// It is recorded, or one that was is played again: what agents are told has to be the same
    /// both times, so they remember nothing.
    On,
}

impl Tape {
    /// Tells what the command line makes of a run.
    pub(crate) fn of(arguments: &TapeArguments) -> Self {
        match arguments {
            TapeArguments { record: None, replay: None } => Self::Off,
            TapeArguments { .. } => Self::On,
        }
    }
}

/// A book that is found without the agent's file.
pub(crate) struct Found {
    pub(crate) agent: String,
    pub(crate) book: Book,
}

impl Shelf {
    /// Makes a shelf below where the program keeps its data, for a run in a directory.
    pub(crate) fn new(data: Option<PathBuf>, directory: &Path, tape: Tape) -> Self {
        let (home, directory) = (data.map(|data| data.join("memory")), directory.to_owned());
        Self { home, directory, tape, warnings: Mutex::default() }
    }

    /// Returns the book of an agent that has one, or says why it cannot.
    pub(crate) fn book(&self, definition: &Definition) -> Result<Option<Book>, String> {
        let Some(memory) = &definition.memory else { return Ok(None) };
        let path = match (&memory.path, &definition.origin.owner) {
            (None, owner) => {
                let home = self.home.as_ref().ok_or("there is no place for memories")?;
                home.join(file_name(&definition.name, owner))
            }
            (Some(path), Owner::User) => resolve(&self.directory, path),
            (Some(path), Owner::Project(project)) => {
                // Agents cannot write there, and nobody else has anything there.
                let (real, own) = (resolve(project, path), project.join(OF_PROJECTS));
                if real == own || !real.starts_with(&own) {
                    let path = path.display();
                    return Err(format!(
                        "`{path}` is not below `{OF_PROJECTS}` of the project; without `path`, it \
                         is in a place of the person's own"
                    ));
                }
                real
            }
        };
        Ok(Some(Book { path }))
    }

    /// Returns every book that is where books are usually.
    pub(crate) fn all(&self) -> io::Result<Vec<Found>> {
        let Some(home) = &self.home else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if let Some(agent) = name.and_then(agent_of) {
                found.push(Found { agent, book: Book { path } });
            }
        }
        found.sort_by(|one, other| one.book.path.cmp(&other.book.path));
        Ok(found)
    }

    /// Notes what a person should know when the run has ended, once.
    pub(crate) fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
    }

    /// Takes what a person should know.
    pub(crate) fn take_warnings(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns where a path in a project's file leads. It has to stay in the project, and away from
/// what steers git or the runtime.
pub(crate) fn within(project: &Path, directory: &Path, path: &Path) -> Result<PathBuf, String> {
    let real = resolve(directory, path);
    let refuse = |why: &str| Err(format!("`{}` {why}", path.display()));
    let Ok(rest) = real.strip_prefix(project) else {
        return refuse(&format!("is outside the project {}", project.display()));
    };
    if rest.as_os_str().is_empty() {
        return refuse("is the project itself");
    }
    // Some systems do not tell upper from lower case.
    let steers = |part: &std::ffi::OsStr| STEERING.iter().any(|it| part.eq_ignore_ascii_case(it));
    match rest.iter().find(|part| steers(part)) {
        Some(part) => refuse(&format!("is in `{}`, which is protected", part.display())),
        None => Ok(real),
    }
}

/// Returns the name of an agent's book: what is no plain letter is written by its number, so no
/// two names come to one, and none leads elsewhere.
fn file_name(agent: &str, owner: &Owner) -> String {
    let mut name = String::new();
    for byte in agent.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            name.push(byte.into());
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if let Owner::Project(project) = owner {
        let digest = Digest::of(project.as_os_str().as_bytes());
        let _ = write!(name, "{AT}{}", &digest.as_str()[..DIGITS]);
    }
    name + ENDING
}

/// Returns the name of the agent whose book has a name, if it is a book's.
fn agent_of(file_name: &str) -> Option<String> {
    let stem = file_name.strip_suffix(ENDING)?;
    let mut rest = stem.split_once(AT).map_or(stem, |(name, _)| name).as_bytes();
    let mut name = Vec::new();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            name.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            name.push(byte);
            rest = after;
        }
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_name_leads_elsewhere_and_no_two_come_to_one() {
        let project = |path: &str| Owner::Project(path.into());
        let names = ["a", "A", "..", "../a", "a/b", "a%2Fb", "a@b", "é b", "", "a.jsonl", "\0"];
        let mut files = BTreeSet::new();
        for name in names {
            for owner in [Owner::User, project("/a"), project("/b")] {
                let file = file_name(name, &owner);
                assert!(!file.contains(['/', '\0']) && !file.starts_with('.') || name.is_empty());
                assert_eq!(agent_of(&file).as_deref(), Some(name), "{file}");
                files.insert(file);
            }
        }
        assert_eq!(files.len(), names.len() * 3);
        assert_eq!(file_name("code-reviewer", &Owner::User), "code-reviewer.jsonl");
        for other in ["a.jsonl.lock", "a%2.jsonl", "a%FF.jsonl", "notes.txt"] {
            assert_eq!(agent_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_path_in_a_project_s_file_stays_in_the_project() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let project = top.join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir_all(top.join("outside")).unwrap();
        symlink(top.join("outside"), project.join("src/link")).unwrap();
        let found = |path: &str| within(&project, &project.join("src"), Path::new(path));
        assert_eq!(found("a/b").unwrap(), project.join("src/a/b"));
        assert_eq!(found("../b").unwrap(), project.join("b"));
        for (path, why) in [
            ("../../b", "outside"),
            ("/etc/b", "outside"),
            ("link/b", "outside"),
            ("..", "itself"),
            ("../.git/hooks/b", "protected"),
            ("../.ADJUTANT/b", "protected"),
        ] {
            let error = found(path).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
