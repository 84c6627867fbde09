//! What of projects' own files the person agreed to.
//!
//! A project comes from anywhere. What its files would allow or start holds only once the
//! person on this machine said so; that is written down outside the project.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use adjutant_core::Digest;
use serde::{Deserialize, Serialize};

use crate::{CliError, Surroundings, error::Kind, whole_file};

/// What the person agreed to, in a file of their own.
#[derive(Clone, Debug)]
pub(crate) struct Agreements {
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    #[serde(default)]
    projects: BTreeMap<String, Agreed>,
}

/// What the person agreed to of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agreed {
    /// The rules that allow.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) allow: BTreeSet<String>,
    /// The files of agents, as they were, by their paths in the project.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) agents: BTreeMap<String, Digest>,
    /// The file of servers, as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mcp: Option<Digest>,
}

impl Agreed {
    /// Reports whether the person agreed to a rule.
    pub(crate) fn allows(&self, rule: &str) -> bool {
        self.allow.contains(rule)
    }
}

impl Agreements {
    /// Finds what the person agreed to.
    pub(crate) fn of(around: &Surroundings) -> Self {
        Self { file: around.trust_file() }
    }

    /// Returns what the person agreed to of a project. One that cannot be written down by its
    /// name nobody agreed to.
    pub(crate) fn agreed(&self, project: &Path) -> Result<Agreed, CliError> {
        let mut book = self.read()?;
        let agreed = project.to_str().and_then(|name| book.projects.remove(name));
        Ok(agreed.unwrap_or_default())
    }

    /// Writes down what the person agrees to from now on.
    pub(crate) fn agree(
        &self,
        project: &Path,
        to: impl FnOnce(&mut Agreed),
    ) -> Result<(), CliError> {
        let name = project.to_str().ok_or_else(|| {
            let why = format!("{}: its name is not UTF-8", project.display());
            CliError::new(Kind::Config, why).hint("rename the directory to agree to what is in it")
        })?;
        let _locked = self.lock().map_err(|error| self.fail(&error))?;
        let mut book = self.read()?;
        let agreed = book.projects.entry(name.to_owned()).or_default();
        to(agreed);
        if *agreed == Agreed::default() {
            book.projects.remove(name);
        }
        let text = toml::to_string(&book).map_err(|error| self.fail(&error))?;
        whole_file::write(&self.file, &text).map_err(|error| self.fail(&error))
    }

    fn read(&self) -> Result<Book, CliError> {
        match fs::read_to_string(&self.file) {
            Ok(text) => toml::from_str(&text).map_err(|error| self.fail(&error.message())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Book::default()),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// Keeps other processes from writing meanwhile.
    fn lock(&self) -> io::Result<File> {
        fs::create_dir_all(self.file.parent().unwrap_or(Path::new("/")))?;
        let lock = File::create(self.file.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn fail(&self, why: &dyn std::fmt::Display) -> CliError {
        CliError::new(Kind::Config, format!("{}: {why}", self.file.display()))
            .hint("it holds what you agreed to; without the file, that is nothing")
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use super::*;

    #[test]
    fn one_project_is_not_taken_for_another() {
        let directory = tempfile::tempdir().unwrap();
        let agreements = Agreements { file: directory.path().join("trusted.toml") };
        let odd = Path::new(OsStr::from_bytes(b"/a\xff"));
        let looks_alike = Path::new("/a\u{fffd}");
        let agree = |project| {
            agreements.agree(project, |agreed| agreed.allow.extend(["read_file".to_owned()]))
        };
        agree(looks_alike).unwrap();
        assert!(agreements.agreed(looks_alike).unwrap().allows("read_file"));
        assert!(!agreements.agreed(odd).unwrap().allows("read_file"));
        assert!(agree(odd).unwrap_err().to_string().contains("not UTF-8"));
    }
}
