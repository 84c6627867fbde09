//! The presets: which tools for delegation there are, and under which limits.

use super::{Source, written::Written};
use crate::{CliError, error::Kind, nearest::nearest};

/// A preset, as it is written.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// Every preset there is.
pub(crate) const PRESETS: [Preset; 5] = [
    Preset { name: "adjutant", text: include_str!("presets/adjutant.toml") },
    Preset { name: "opal", text: include_str!("presets/opal.toml") },
    Preset { name: "opta", text: include_str!("presets/opta.toml") },
    Preset { name: "meerkat", text: include_str!("presets/meerkat.toml") },
    Preset { name: "axe", text: include_str!("presets/axe.toml") },
];

impl Preset {
    /// Finds a preset; `place` says who asks for it.
    pub(crate) fn find(name: &str, place: &str) -> Result<&'static Self, CliError> {
        let found = PRESETS.iter().find(|preset| preset.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
            let wrong =
                format!("{place}there is no preset `{name}`; there are: {}", names.join(", "));
            let error = CliError::new(Kind::Config, wrong);
            match nearest(name, names) {
                Some(meant) => error.hint(format!("did you mean `{meant}`?")),
                None => error,
            }
        })
    }

    /// Returns the line that says what it is.
    pub(crate) fn description(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// Returns what it sets.
    pub(super) fn written(&'static self) -> Result<Written, CliError> {
        let mut written = Written::default();
        written.add_file(self.text, &|_| Source::Preset { name: self.name })?;
        Ok(written)
    }
}
