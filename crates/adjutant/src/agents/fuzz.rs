//! What a fuzzer reaches of the files of agents.

use super::{
    definition::Owner,
    format::Format,
    problem::Severity,
    text::{self, Written},
};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What it defines, if it is not refused.
    pub definition: Option<String>,
    /// What is wrong with it, by the word for how bad it is, and where.
    pub problems: Vec<(&'static str, Option<usize>, String)>,
    /// Whether one of these is what it is refused for.
    pub has_error: bool,
}

/// Reads a file in a format: that of ours, Claude Code's, opencode's or Codex's. Returns nothing
/// if it is no text.
pub fn agent(format: usize, bytes: &[u8]) -> Option<Loaded> {
    let formats = [Format::Native, Format::Claude, Format::OpenCode, Format::Codex];
    let written = Written {
        file: "/agents/fuzzed".into(),
        owner: Owner::Project("/".into()),
        name: "fuzzed".to_owned(),
        text: text::decode(bytes).ok()?,
    };
    let (definition, problems) = formats[format % formats.len()].read(&written);
    Some(Loaded {
        definition: definition.map(|definition| format!("{definition:?}")),
        has_error: problems.iter().any(|problem| problem.severity == Severity::Error),
        problems: problems
            .into_iter()
            .map(|it| (it.severity.name(), it.line, it.message))
            .collect(),
    })
}
