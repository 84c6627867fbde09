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
        let mut places = Vec::new();
        for above in lineage(directory, home) {
            let owner = Owner::Project(above.clone());
            let place =
                |(name, kind)| Self { directory: above.join(name), owner: owner.clone(), kind };
            places.extend(OF_PROJECTS.map(place));
        }
        let place = |directory, kind| Self { directory, owner: Owner::User, kind };
        let configuration =
            OF_CONFIGURATIONS.map(|(name, kind)| place(around.config_home.join(name), kind));
        let homes = home
            .into_iter()
            .flat_map(|home| OF_HOMES.map(|(name, kind)| place(home.join(name), kind)));
        places.extend(configuration.into_iter().chain(homes));
        places
    }
}

impl Kind {
    /// Reports whether subdirectories are looked into.
    pub(crate) fn is_deep(self) -> bool {
        matches!(self, Self::Claude | Self::OpenCode)
    }

    /// Returns the format of a file, by how its name ends; `None` is no agent's.
    pub(crate) fn format(self, file: &Path) -> Option<Format> {
        let ending = file.extension()?.to_str()?;
        match (self, ending) {
            (Self::Own, "toml") => Some(Format::Native),
            (Self::Own | Self::Claude, "md") => Some(Format::Claude),
            (Self::OpenCode, "md") => Some(Format::OpenCode),
            (Self::Codex, "toml") => Some(Format::Codex),
            _ => None,
        }
    }
}
