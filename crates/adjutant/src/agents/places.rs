//! Where agents' files are looked for.

use std::path::{Component, Path, PathBuf};

use super::{definition::Owner, format::Format};
use crate::{Surroundings, lineage::lineage};

/// A directory in which agents' files may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) owner: Owner,
    pub(crate) kind: Kind,
}

/// What is in a directory of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Files of ours, and Markdown as Claude Code has it.
    Own,
    /// Claude Code's, in subdirectories too.
    Claude,
    /// opencode's, in subdirectories too.
    OpenCode,
    /// Codex's.
    Codex,
}

/// What is below a project's directory, the strongest first.
const OF_PROJECTS: [(&str, Kind); 6] = [
    (".adjutant/agents", Kind::Own),
    (".agents/agents", Kind::Own),
    (".claude/agents", Kind::Claude),
    (".opencode/agent", Kind::OpenCode),
    (".opencode/agents", Kind::OpenCode),
    (".codex/agents", Kind::Codex),
];

/// What is below the home directory, besides our own.
const OF_HOMES: [(&str, Kind); 3] = [
    (".agents/agents", Kind::Own),
    (".claude/agents", Kind::Claude),
    (".codex/agents", Kind::Codex),
];

/// What is below the user's configuration, the strongest first.
const OF_CONFIGURATIONS: [(&str, Kind); 3] = [
    ("adjutant/agents", Kind::Own),
    ("opencode/agent", Kind::OpenCode),
    ("opencode/agents", Kind::OpenCode),
];

impl Place {
    /// Returns all places for who works in a directory, the strongest first.
    pub(crate) fn all(around: &Surroundings, directory: &Path) -> Vec<Self> {
        let home = around.home.as_deref();
        let place = |directory, kind| Self { directory, owner: Owner::User, kind };
        let configuration =
            OF_CONFIGURATIONS.map(|(name, kind)| place(around.config_home.join(name), kind));
        let homes = home
            .into_iter()
            .flat_map(|home| OF_HOMES.map(|(name, kind)| place(home.join(name), kind)));
        let users: Vec<_> = configuration.into_iter().chain(homes).collect();
        let mut places = Vec::new();
        for above in lineage(directory, home) {
            let owner = Owner::Project(above.clone());
            let place =
                |(name, kind)| Self { directory: above.join(name), owner: owner.clone(), kind };
            // Who works in their home directory is in no project. Most places are not there.
            let is_users = |place: &Self| {
                place.directory.exists() && users.iter().any(|it| it.is_at(&place.directory))
            };
            places.extend(OF_PROJECTS.map(place).into_iter().filter(|place| !is_users(place)));
        }
        places.extend(users);
        places
    }

    /// Returns the place that a person named who works in a directory. One that is among the usual
    /// stays whose it is.
    pub(crate) fn named(named: &Path, usual: &[Self], around: &Surroundings, work: &Path) -> Self {
        let real = real(named);
        let usual = || usual.iter().filter(|place| place.owner.holds(&place.directory));
        if let Some(same) = usual().find(|place| place.is_at(&real)) {
            return same.clone();
        }
        let (owner, kind) = match usual().find(|it| real.starts_with(self::real(&it.directory))) {
            Some(above) => (above.owner.clone(), above.kind),
            None => (whose(named, &real, around, work), Kind::of(&real)),
        };
        // What is agreed to is written down by its path in the project.
        let directory = match &owner {
            Owner::Project(project) if real.starts_with(project) => real,
            Owner::Project(_) | Owner::User => named.to_owned(),
        };
        Self { directory, owner, kind }
    }

    fn is_at(&self, directory: &Path) -> bool {
        real(&self.directory) == real(directory)
    }
}

/// Returns whose a directory is that is not a usual one: that of the work if it is in there, or
/// of the project among whose agents it is, or of the repository it is in. Any other is the
/// person's own.
fn whose(named: &Path, real: &Path, around: &Surroundings, work: &Path) -> Owner {
    let home = around.home.as_deref().map(self::real);
    let is_project = |directory: &PathBuf| Some(directory) != home.as_ref();
    let top = lineage(work, around.home.as_deref()).pop().filter(is_project);
    let named = without_dots(named);
    if let Some(top) = top.filter(|top| real.starts_with(top) || named.starts_with(top)) {
        return Owner::Project(top);
    }
    let is_known = |above: &&Path| OF_PROJECTS.iter().any(|(name, _)| above.ends_with(name));
    let known = real.ancestors().find(is_known);
    // Such names have two parts.
    let project = known.and_then(|known| known.ancestors().nth(2));
    // What is in a repository comes from whoever wrote that.
    let repository = || real.ancestors().find(|above| above.join(".git").exists());
    let project = project.or_else(repository).map(Path::to_owned);
    project.filter(is_project).map_or(Owner::User, Owner::Project)
}

/// Returns a path without its `.` and `..`, whatever links there are.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
        path
    })
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

impl Kind {
    /// Returns what is in a directory that a person named, by what it or one above is called.
    fn of(directory: &Path) -> Self {
        let known = OF_PROJECTS.iter().chain(&OF_CONFIGURATIONS);
        let is_in = |name: &str| directory.ancestors().any(|above| above.ends_with(name));
        let mut kinds = known.filter(|(name, _)| is_in(name)).map(|(_, kind)| *kind);
        kinds.next().unwrap_or(Self::Own)
    }

    /// Reports whether subdirectories are looked into.
    pub(crate) fn is_deep(self) -> bool {
        matches!(self, Self::Claude | Self::OpenCode)
    }

    /// Returns the format of a file, by how its name ends; `None` is no agent's. What begins with
    /// a dot is some program's own.
    pub(crate) fn format(self, file: &Path) -> Option<Format> {
        let is_hidden = file.file_name()?.as_encoded_bytes().starts_with(b".");
        let ending = file.extension().filter(|_| !is_hidden)?.to_str()?.to_ascii_lowercase();
        match (self, &*ending) {
            (Self::Own, "toml") => Some(Format::Native),
            (Self::Own | Self::Claude, "md") => Some(Format::Claude),
            (Self::OpenCode, "md") => Some(Format::OpenCode),
            (Self::Codex, "toml") => Some(Format::Codex),
            _ => None,
        }
    }
}
