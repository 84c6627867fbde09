//! The formats that agents are written in.

use super::{
    definition::Definition,
    foreign::{claude, codex, opencode},
    native,
    problem::Problem,
    text::Written,
};

/// A format that agents are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    /// Our own TOML.
    #[default]
    Native,
    /// Claude Code's Markdown.
    Claude,
    /// opencode's Markdown.
    OpenCode,
    /// Codex's TOML.
    Codex,
}

impl Format {
    /// Returns its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Native => "adjutant",
            Self::Claude => "claude",
            Self::OpenCode => "opencode",
            Self::Codex => "codex",
        }
    }

    /// Reads an agent. Without one, one of the problems is an error.
    pub(crate) fn read(self, file: &Written) -> (Option<Definition>, Vec<Problem>) {
        match self {
            Self::Native => native::read(file),
            Self::Claude => claude::read(file),
            Self::OpenCode => opencode::read(file),
            Self::Codex => codex::read(file),
        }
    }
}
