//! Where agents' files are looked for.

use std::path::{Path, PathBuf};

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
            // Who works in their home directory is in no project.
            let is_users = |place: &Self| users.iter().any(|it| it.is_at(&place.directory));
            places.extend(OF_PROJECTS.map(place).into_iter().filter(|place| !is_users(place)));
        }
        places.extend(users);
        places
    }

    /// Returns the place that a person named. One that is among the usual stays whose it is.
    pub(crate) fn named(directory: &Path, usual: &[Self]) -> Self {
        let real = |path: &Path| path.canonicalize().ok();
        let wanted = real(directory);
        let same = usual.iter().find(|place| wanted.is_some() && real(&place.directory) == wanted);
        if let Some(same) = same {
            return same.clone();
        }
        let above = usual.iter().find(|place| {
            let (wanted, place) = (wanted.as_deref(), real(&place.directory));
            wanted.zip(place).is_some_and(|(wanted, place)| wanted.starts_with(place))
        });
        let (owner, kind) = match above {
            Some(above) => (above.owner.clone(), above.kind),
            None => (Owner::User, Kind::of(wanted.as_deref().unwrap_or(directory))),
        };
        Self { directory: directory.to_owned(), owner, kind }
    }

    fn is_at(&self, directory: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(&self.directory) == real(directory)
    }
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
