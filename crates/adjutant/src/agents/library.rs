//! Every agent there is, as its file was when the library was read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_surfaces::sanitize::visible;

use super::{
    definition::{Artifacts, Definition, Owner},
    format::Format,
    places::Place,
    problem::{Problem, Severity},
    search::{Found, search},
    text::{self, Written},
};
use crate::{CliError, Surroundings, error::Kind, nearest::nearest};

/// How many places that were not looked at are told to who asks for an agent that is not there.
const MOST_UNSEEN: usize = 3;

/// Every agent there is. Files that change later change nothing here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    agents: BTreeMap<String, Arc<Definition>>,
    /// The files that are refused, by what their agents would be called. Nobody gets a weaker
    /// agent of that name instead.
    refused: BTreeMap<String, PathBuf>,
    /// Where nobody would look for agents if the person had not said so.
    pub(super) named: Vec<PathBuf>,
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
    /// Reads all that is there for who works in a directory, and before it all in the directories
    /// that a person named.
    pub(crate) fn read(around: &Surroundings, directory: &Path, named: &[PathBuf]) -> Self {
        let usual = Place::all(around, directory);
        let named = named.iter().map(|named| Place::named(named, &usual, around, directory));
        let named: Vec<_> = named.collect();
        let (mut library, mut seen) = (Self::default(), BTreeSet::new());
        for place in named.iter().chain(&usual) {
            library.add(place, &mut seen);
        }
        let unusual = named.into_iter().filter(|place| !usual.contains(place));
        library.named = unusual.map(|place| place.directory).collect();
        library
    }

    /// Returns an agent by its name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.agents.get(name)
    }

    /// Has every agent hand back files, wherever its own file would have them.
    pub(crate) fn hand_back(&mut self) {
        self.change(|definition| definition.artifacts = Some(Artifacts::default()));
    }

    /// Has every agent run on the model that it would run on if its file named none.
    pub(crate) fn forget_named_models(&mut self) {
        self.change(|definition| definition.model = None);
    }

    fn change(&mut self, change: impl Fn(&mut Definition)) {
        let entries = self.entries.iter_mut().filter_map(|entry| entry.definition.as_mut());
        for definition in self.agents.values_mut().chain(entries) {
            change(Arc::make_mut(definition));
        }
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
        if let Some(file) = self.refused.get(name) {
            return self.find_file(file);
        }
        let error = CliError::new(Kind::Usage, format!("there is no agent named `{name}`"));
        let error = match nearest(name, self.agents.keys().map(String::as_str)) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint("`adjutant agents new NAME` makes one"),
        };
        // It may be among what was not looked at.
        let unseen = self.entries.iter().filter(|entry| entry.file.is_dir());
        let unseen = unseen.flat_map(|entry| &entry.problems).map(Problem::aside);
        Err(unseen
            .take(MOST_UNSEEN)
            .fold(error, CliError::hint)
            .hint("`adjutant agents list` shows them"))
    }

    /// Returns the agent of a file, whatever it is called, or says why there is none.
    pub(crate) fn find_file(&self, file: &Path) -> Result<&Arc<Definition>, CliError> {
        let entry = self.entry(file).ok_or_else(|| no_file(file))?;
        entry.definition.as_ref().ok_or_else(|| entry.refusal())
    }

    /// Returns a file that was looked at, however it is named.
    pub(crate) fn entry(&self, file: &Path) -> Option<&Entry> {
        let identity = identity(file);
        self.entries
            .iter()
            .find(|entry| identity.is_some() && self::identity(&entry.file) == identity)
    }

    /// Puts another definition in the place of the one that its file had, and says why.
    pub(super) fn replace(&mut self, definition: Definition, problems: &[Problem]) {
        let definition = Arc::new(definition);
        let file = &definition.origin.file;
        for entry in self.entries.iter_mut().filter(|entry| entry.file == *file) {
            entry.definition = Some(Arc::clone(&definition));
            entry.problems.extend(problems.iter().cloned());
        }
        self.agents.insert(definition.name.clone(), definition);
    }

    /// Reads all in a place but what was seen already.
    fn add(&mut self, place: &Place, seen: &mut BTreeSet<PathBuf>) {
        let Found { files, problems } = search(place);
        let mut here = BTreeMap::new();
        for (file, format) in files {
            let is_new = identity(&file).is_none_or(|identity| seen.insert(identity));
            let Some(mut entry) = is_new.then(|| load(place, file, format)).flatten() else {
                continue;
            };
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
        let Some(definition) = entry.definition.clone() else {
            let name = stem(&entry.file);
            if !self.agents.contains_key(&name) {
                self.refused.entry(name).or_insert_with(|| entry.file.clone());
            }
            return;
        };
        if let Some(first) = here.get(&definition.name) {
            let why = format!("`{}` is the name of {} too", definition.name, first.display());
            let problem = Problem::of(Severity::Error, &entry.file, why);
            entry.problems.push(problem.at(definition.line("name")).hint("give it another"));
            entry.definition = None;
            return;
        }
        here.insert(definition.name.clone(), entry.file.clone());
        let stronger = self.agents.get(&definition.name).map(|stronger| &stronger.origin.file);
        match stronger.or_else(|| self.refused.get(&definition.name)) {
            Some(stronger) => entry.shadowed_by = Some(stronger.clone()),
            None => drop(self.agents.insert(definition.name.clone(), definition)),
        }
    }
}

impl Entry {
    /// Returns what its agent is called, or would be.
    pub(crate) fn name(&self) -> String {
        self.definition.as_ref().map_or_else(|| stem(&self.file), |it| it.name.clone())
    }

    /// Returns how many problems of a severity there are.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }

    /// Says why there is no agent.
    fn refusal(&self) -> CliError {
        let mut errors = self.problems.iter().filter(|it| it.severity == Severity::Error);
        let Some(first) = errors.next() else {
            return CliError::new(Kind::Config, format!("{}: is refused", self.file.display()));
        };
        let why = format!("{}: {}", first.place(), visible(&first.message));
        let error = CliError::new(Kind::Config, why);
        let error = first.hint.iter().fold(error, |error, hint| error.hint(hint));
        match errors.count() {
            0 => error,
            more => error.hint(format!("there are {more} more: `adjutant agents check` shows all")),
        }
    }
}

/// Says that a file is no agent's.
pub(super) fn no_file(file: &Path) -> CliError {
    let why = match fs::metadata(file) {
        Ok(_) => "is no agent's file".to_owned(),
        Err(error) => error.to_string(),
    };
    CliError::new(Kind::Usage, format!("{}: {why}", file.display()))
        .hint("agents' files end with `.toml` or `.md`")
}

/// Reads one file; `None` is a note beside the agents.
fn load(place: &Place, file: PathBuf, format: Format) -> Option<Entry> {
    let owner = place.owner.clone();
    let text = match owner.holds(&file) {
        true => text::read(&file),
        false => Err(Problem::leads_out(&file)),
    };
    let (definition, problems) = match text {
        Err(problem) => (None, vec![problem]),
        Ok(text) if is_note(&file, &text) => return None,
        Ok(text) => {
            let name = file.strip_prefix(&place.directory).unwrap_or(&file).with_extension("");
            let name = name.to_string_lossy().into_owned();
            let written = Written { file: file.clone(), owner: owner.clone(), name, text };
            format.read(&written)
        }
    };
    let definition = definition.map(Arc::new);
    Some(Entry { file, owner, format, definition, shadowed_by: None, problems })
}

/// Reports whether a file is a note to people rather than an agent.
fn is_note(file: &Path, text: &str) -> bool {
    let is_readme = file.file_name().is_some_and(|name| name.eq_ignore_ascii_case("README.md"));
    is_readme && !text.starts_with("---")
}

fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the one path of a file, with every link to its directory resolved. Two names in a
/// directory are two files, even if one is a link to the other.
fn identity(file: &Path) -> Option<PathBuf> {
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    Some(fs::canonicalize(directory).ok()?.join(file.file_name()?))
}

#[cfg(test)]
mod tests;
