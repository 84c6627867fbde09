//! Which agents a reply is for.

use serde::Deserialize;

use adjutant_core::AgentPath;

/// An agent's path in which `*` stands for any characters, dots included: `root.*` is
/// everyone below the root, `root.scout-*` every scout and everyone below it.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pattern(String);

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// Returns the pattern as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether the agent is meant.
    pub(crate) fn matches(&self, agent: &AgentPath) -> bool {
        let Some((start, rest)) = self.0.split_once('*') else { return self.0 == agent.as_str() };
        let Some(mut path) = agent.as_str().strip_prefix(start) else { return false };
        let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
        for piece in middle.split('*') {
            match path.split_once(piece) {
                Some((_, after)) => path = after,
                None => return false,
            }
        }
        path.ends_with(end)
    }

    /// Refuses a pattern that no agent's path can fit.
    pub(crate) fn check(&self) -> Result<(), String> {
        let start = self.0.split('*').next().unwrap_or_default();
        let has_star = start.len() < self.0.len();
        let is_possible = if has_star {
            "root".starts_with(start) || start.starts_with("root.")
        } else {
            self.0.parse::<AgentPath>().is_ok()
        };
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
        if is_possible && self.0.chars().all(is_allowed) {
            return Ok(());
        }
        Err(format!(
            "`{}` fits no agent: expected a path such as `root.scout-1`, in which `*` stands \
             for any characters",
            self.0
        ))
    }
}

impl Default for Pattern {
    fn default() -> Self {
        Self::new("*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let table = [
            ("*", "root", true),
            ("root", "root", true),
            ("root", "root.a-1", false),
            ("root.*", "root", false),
            ("root.*", "root.a-1.b-1", true),
            ("root.scout-*", "root.scout-12", true),
            ("root.scout-*", "root.reader-1", false),
            ("*-1", "root.scout-1", true),
            ("*-1", "root.scout-12", false),
            ("root.*.b-*", "root.a-1.b-7", true),
            ("root.*.b-*", "root.b-7", false),
            ("*.a-1.*.a-1", "root.a-1.a-1", false),
        ];
        for (pattern, path, expected) in table {
            let agent = path.parse().unwrap();
            assert_eq!(Pattern::new(pattern).matches(&agent), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_that_fits_nobody_is_refused() {
        for pattern in ["scout-1", "", "rot*", "root.a b", "root.*/x", "root.", "rootx*"] {
            assert!(Pattern::new(pattern).check().is_err(), "{pattern}");
        }
        for pattern in ["root", "*", "ro*", "root*", "root.*", "*scout-1"] {
            assert!(Pattern::new(pattern).check().is_ok(), "{pattern}");
        }
    }
}
