//! A named agent, whatever the format it was written in.

use std::{
    collections::BTreeMap,
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Access, Allowance, Digest, Isolation, Manner, Mode, Pattern, Rules};
use serde_json::Value;

use super::{format::Format, text::Written};

/// A named agent, as its file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// What it is good for. Others are told.
    pub(crate) description: String,
    /// What it is told before its task.
    pub(crate) prompt: String,
    /// The model it runs on: a full name, or a name at its caller's provider.
    pub(crate) model: Option<String>,
    /// How it works.
    pub(crate) manner: Manner,
    /// Skills that it knows from the beginning, by name or by the path of their file.
    pub(crate) skills: Vec<String>,
    /// Files that it knows from the beginning, as patterns from where it works.
    pub(crate) files: Vec<String>,
    /// Where it works, and it works nowhere else.
    pub(crate) workdir: Option<PathBuf>,
    /// Which tools it has.
    pub(crate) access: Access,
    /// How freely it acts, at most.
    pub(crate) mode: Option<Mode>,
    /// Exceptions to that.
    pub(crate) rules: Rules,
    /// What it would allow if the person agreed.
    pub(crate) withheld: Vec<Pattern>,
    /// What it may spend.
    pub(crate) allowance: Allowance,
    /// The JSON Schema its answer has to fit.
    pub(crate) schema: Option<Arc<Value>>,
    /// Whom it may call.
    pub(crate) callable: Callable,
    /// Who may run it.
    pub(crate) audience: Audience,
    /// How those are run.
    pub(crate) children: Children,
    /// What it remembers from run to run.
    pub(crate) memory: Option<Memory>,
    /// Where it may hand back files.
    pub(crate) artifacts: Option<Artifacts>,
    /// Servers that it alone has.
    #[cfg(feature = "mcp")]
    pub(crate) servers: Vec<adjutant_tools::mcp::Server>,
    /// What is put into its prompt for `{{name}}`.
    pub(crate) variables: BTreeMap<String, Variable>,
    /// Whether it works where others do.
    pub(crate) isolation: Isolation,
    /// Whether it is told what the project's AGENTS.md say.
    pub(crate) guidance: Guidance,
    /// Where it was written.
    pub(crate) origin: Origin,
}

/// Where an agent was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: PathBuf,
    pub(crate) format: Format,
    pub(crate) owner: Owner,
    /// What it was when it was read.
    pub(crate) digest: Option<Digest>,
    /// In which line which field is, by its name; one of a table is `table.field`.
    pub(crate) lines: BTreeMap<String, usize>,
}

impl Origin {
    /// Makes the origin of what was read from a file.
    pub(crate) fn new(written: &Written, format: Format, lines: &BTreeMap<String, usize>) -> Self {
        Self {
            file: written.file.clone(),
            format,
            owner: written.owner.clone(),
            digest: Some(Digest::of(written.text.as_bytes())),
            lines: lines.clone(),
        }
    }
}

/// Whose file it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The person's own, or one they named outside of projects.
    #[default]
    User,
    /// A project's, in this directory. It comes from whoever wrote that.
    Project(PathBuf),
}

impl Owner {
    /// Reports whether a path leads to where the owner may have files: what is in a project must
    /// not lead out of it.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        match self {
            Self::User => true,
            Self::Project(project) => {
                let real = path.canonicalize();
                let is_within = |real: PathBuf| {
                    project.canonicalize().is_ok_and(|project| real.starts_with(project))
                };
                // What is not there leads nowhere.
                real.map_or(true, is_within)
            }
        }
    }
}

/// Whom an agent may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Callable {
    /// Nobody.
    #[default]
    Nobody,
    /// These.
    Only(Vec<String>),
    /// Every agent there is.
    All,
}

/// Who may run an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    /// People, and the agents that may call it.
    #[default]
    Everyone,
    /// People.
    People,
    /// Nobody. It keeps a weaker file of its name from being used.
    Nobody,
}

/// How the agents are run that an agent calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Children {
    /// How many levels there may be below it.
    pub(crate) depth: Option<u8>,
    /// How many seconds each may take.
    pub(crate) timeout: Option<NonZeroU64>,
}

/// What an agent remembers from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Where, if not where it is usual.
    pub(crate) path: Option<PathBuf>,
    /// How many of the last records it is told; `None` is all of them.
    pub(crate) last: Option<NonZeroU64>,
    /// How many records there may be before a person is told to clean up.
    pub(crate) most: NonZeroU64,
    /// Whether what was piped in is remembered too.
    pub(crate) input: Input,
}

/// Whether what was piped in is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Input {
    /// Only how long it was.
    #[default]
    Measured,
    /// As it was.
    Kept,
}

/// Where an agent may hand back files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Artifacts {
    /// In this directory, if not where it is usual.
    pub(crate) directory: Option<PathBuf>,
}

/// What is put into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// What it is for.
    pub(crate) description: Option<String>,
    /// What it is when nobody says; `None` has to be said.
    pub(crate) default: Option<String>,
}

/// Whether an agent is told what the project's AGENTS.md say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Guidance {
    /// It is.
    #[default]
    Told,
    /// It is not.
    Omitted,
}

impl Definition {
    /// Returns the file, and the line of a field in it, as far as they are known.
    pub(crate) fn place(&self, field: &str) -> String {
        let file = self.origin.file.display();
        self.line(field).map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    }

    /// Returns what the field of its servers is called in its format.
    pub(crate) const fn servers_field(&self) -> &'static str {
        match self.origin.format {
            Format::Claude => "mcpServers",
            Format::Native | Format::OpenCode | Format::Codex => "mcp_servers",
        }
    }

    /// Returns where a field is written.
    pub(crate) fn line(&self, field: &str) -> Option<usize> {
        self.origin.lines.get(field).copied()
    }
}
