//! Every agent there is, as its file was when the library was read.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    definition::{Definition, Owner},
    format::Format,
    places::{Kind, Place},
    problem::{Problem, Severity},
    text::{self, Written},
};
use crate::{CliError, Surroundings, error::Kind as ErrorKind, nearest::nearest};

/// Every agent there is. Files that change later change nothing here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    agents: BTreeMap<String, Arc<Definition>>,
    pub(crate) entries: Vec<Entry>,
}

/// A file that was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) file: PathBuf,
    pub(crate) owner: Owner,
    pub(crate) format: Format,
    /// What it defines, if it is not refused.
    pub(crate) definition: Option<Arc<Definition>>,
    /// The stronger file that has the same name.
    pub(crate) shadowed_by: Option<PathBuf>,
    pub(crate) problems: Vec<Problem>,
}

impl Library {
    /// Reads all that is there for who works in a directory, and before it all in `named`, if a
    /// person named a directory.
    pub(crate) fn read(around: &Surroundings, directory: &Path, named: Option<&Path>) -> Self {
        let named = named.map(|directory| Place {
            directory: directory.to_owned(),
            owner: Owner::User,
            kind: Kind::Own,
        });
        let mut library = Self::default();
        for place in named.into_iter().chain(Place::all(around, directory)) {
            library.add(&place);
        }
        library
    }

    /// Returns an agent by its name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.agents.get(name)
    }

    /// Returns all of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.agents.values()
    }

    /// Returns an agent, or says why there is none of that name.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Definition>, CliError> {
        if let Some(found) = self.get(name) {
            return Ok(found);
        }
        let wrong = format!("there is no agent named `{name}`");
        let error = CliError::new(ErrorKind::Usage, wrong);
        let refused = self.entries.iter().find(|entry| {
            entry.definition.is_none() && entry.file.file_stem().is_some_and(|stem| stem == name)
        });
        if let Some(problem) = refused.and_then(|entry| entry.problems.last()) {
            return Err(CliError::new(ErrorKind::Config, problem.to_string()));
        }
        Err(match nearest(name, self.agents.keys().map(String::as_str)) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint("`adjutant agents new NAME` makes one"),
        }
        .hint("`adjutant agents list` shows them"))
    }

    fn add(&mut self, place: &Place) {
        let mut files = Vec::new();
        let problems = collect(&place.directory, place.kind, &mut files);
        files.sort();
        let mut here = BTreeMap::new();
        for (file, format) in files {
            let mut entry = load(place, file, format);
            self.settle(&mut entry, &mut here);
            self.entries.push(entry);
        }
        self.entries.extend(problems.into_iter().map(|problem| Entry {
            file: problem.file.clone(),
            owner: place.owner.clone(),
            format: Format::Native,
            definition: None,
            shadowed_by: None,
            problems: vec![problem],
        }));
    }

    /// Finds out whether a file's agent is the one of its name.
    fn settle(&mut self, entry: &mut Entry, here: &mut BTreeMap<String, PathBuf>) {
        let Some(definition) = entry.definition.clone() else { return };
        if let Some(first) = here.get(&definition.name) {
            let why = format!("`{}` is the name of {} too", definition.name, first.display());
            let problem = Problem::of(Severity::Error, &entry.file, why);
            entry.problems.push(problem.at(definition.line("name")).hint("give it another"));
            entry.definition = None;
            return;
        }
        here.insert(definition.name.clone(), entry.file.clone());
        match self.agents.get(&definition.name) {
            Some(stronger) => entry.shadowed_by = Some(stronger.origin.file.clone()),
            None => drop(self.agents.insert(definition.name.clone(), definition)),
        }
    }
}

/// Reads one file.
fn load(place: &Place, file: PathBuf, format: Format) -> Entry {
    let owner = place.owner.clone();
    let (definition, problems) = match text::read(&file) {
        Err(problem) => (None, vec![problem]),
        Ok(text) => {
            let name = file.strip_prefix(&place.directory).unwrap_or(&file).with_extension("");
            let name = name.to_string_lossy().into_owned();
            let written = Written { file: file.clone(), owner: owner.clone(), name, text };
            format.read(&written)
        }
    };
    let definition = definition.map(Arc::new);
    Entry { file, owner, format, definition, shadowed_by: None, problems }
}

/// Finds the files in a directory, and returns what could not be looked at.
fn collect(directory: &Path, kind: Kind, files: &mut Vec<(PathBuf, Format)>) -> Vec<Problem> {
    let unseen = |error: io::Error| {
        Problem::of(Severity::Error, directory, format!("cannot be looked into: {error}"))
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![unseen(error)],
    };
    let mut problems = Vec::new();
    for entry in entries {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(error) => {
                problems.push(unseen(error));
                continue;
            }
        };
        if path.is_dir() {
            if kind.is_deep() {
                problems.extend(collect(&path, kind, files));
            }
        } else if let Some(format) = kind.format(&path) {
            files.push((path, format));
        }
    }
    problems
}
