//! Exceptions to a mode, written as `tool` or `tool(pattern)`.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{Target, Verdict};

/// Exceptions to a mode. A deny beats an ask, an ask beats an allow, whatever
/// their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// What is done without asking, where the mode would ask. What the mode
    /// denies stays denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Pattern>,
    /// What a person is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Pattern>,
    /// What is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Pattern>,
}

impl Rules {
    /// Reports whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty()
    }

    /// Reports whether some calls of a tool are forbidden or asked about, and others not.
    pub(crate) fn distinguish(&self, tool: &str) -> bool {
        let mut stricter = self.deny.iter().chain(&self.ask);
        stricter.any(|pattern| pattern.is_specific() && pattern.is_about(tool))
    }

    /// Returns the strictest rule that speaks of a call, and its verdict.
    pub(crate) fn find(
        &self,
        tool: &str,
        target: &Target,
        scope: &[PathBuf],
    ) -> Option<(Verdict, &Pattern)> {
        let lists =
            [(Verdict::Deny, &self.deny), (Verdict::Ask, &self.ask), (Verdict::Allow, &self.allow)];
        lists.into_iter().find_map(|(verdict, patterns)| {
            let pattern = patterns.iter().find(|pattern| pattern.covers(tool, target, scope))?;
            Some((verdict, pattern))
        })
    }
}

/// Which calls a rule speaks of: `run_command`, `run_command(git status*)`,
/// `edit_file(src/**)`, `mcp_*`.
///
/// In a path `*` stops at `/` and `**` does not; in a command `*` is anything. A
/// relative path pattern is meant from the scope's directories.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    tool: GlobMatcher,
    argument: Option<Argument>,
}

#[derive(Clone, Debug)]
struct Argument {
    path: GlobMatcher,
    words: GlobMatcher,
    base: Base,
}

/// Where a path pattern starts.
#[derive(Clone, Copy, Debug)]
enum Base {
    Root,
    Scope,
}

/// The text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a rule: {why}; expected `tool` or `tool(pattern)`")]
pub struct BadRule {
    rule: String,
    why: String,
}

impl Pattern {
    /// Reports whether the rule speaks of calls of a tool.
    pub fn is_about(&self, tool: &str) -> bool {
        self.tool.is_match(tool)
    }

    /// Reports whether the rule speaks of some calls of a tool rather than all.
    pub(crate) fn is_specific(&self) -> bool {
        self.argument.is_some()
    }

    /// Makes the rule that speaks of one target and no other, unless nobody can tell what
    /// that is.
    pub fn exactly(tool: &str, target: &Target, scope: &[PathBuf]) -> Option<Self> {
        let text = match target {
            Target::Unclear(_) => return None,
            Target::Nothing => globset::escape(tool),
            Target::Words(words) => {
                format!("{}({})", globset::escape(tool), globset::escape(words))
            }
            Target::Path(path) => {
                let inside = scope.iter().find_map(|directory| path.strip_prefix(directory).ok());
                let path = inside.unwrap_or(path).to_str()?;
                format!("{}({})", globset::escape(tool), globset::escape(path))
            }
        };
        text.parse().ok()
    }

    /// Reports whether the rule speaks of a call that touches a target.
    pub fn covers(&self, tool: &str, target: &Target, scope: &[PathBuf]) -> bool {
        let Some(argument) = &self.argument else { return self.tool.is_match(tool) };
        let is_match = match target {
            Target::Path(path) => argument.covers_path(path, scope),
            Target::Words(words) => argument.words.is_match(words),
            Target::Unclear(_) | Target::Nothing => false,
        };
        is_match && self.tool.is_match(tool)
    }
}

impl Argument {
    fn covers_path(&self, path: &Path, scope: &[PathBuf]) -> bool {
        let mut inside = scope.iter().filter_map(|directory| path.strip_prefix(directory).ok());
        match self.base {
            Base::Root => self.path.is_match(path),
            Base::Scope => inside.any(|path| self.path.is_match(path)),
        }
    }
}

impl FromStr for Pattern {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = |why: &str| BadRule { rule: text.to_owned(), why: why.to_owned() };
        let (tool, argument) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let argument = rest.strip_suffix(')').ok_or_else(|| bad("`)` is missing"))?;
                (tool, Some(argument))
            }
        };
        if tool.is_empty() || tool.chars().any(|c| c.is_whitespace() || c == ')') {
            return Err(bad("the tool's name is missing or has a stray character"));
        }
        let glob = |text: &str, stops_at_slash: bool| {
            let glob = GlobBuilder::new(text).literal_separator(stops_at_slash).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| bad(&error.kind().to_string()))
        };
        let argument = match argument {
            None => None,
            Some("") => return Err(bad("the pattern is empty")),
            Some(text) => {
                let base = if text.starts_with('/') { Base::Root } else { Base::Scope };
                Some(Argument { path: glob(text, true)?, words: glob(text, false)?, base })
            }
        };
        Ok(Self { text: text.to_owned(), tool: glob(tool, false)?, argument })
    }
}

impl TryFrom<String> for Pattern {
    type Error = BadRule;

    fn try_from(text: String) -> Result<Self, BadRule> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(rule: &str, tool: &str, target: &Target) -> bool {
        rule.parse::<Pattern>().unwrap().covers(tool, target, &["/project".into()])
    }

    #[test]
    fn a_star_in_a_path_stops_at_the_slash() {
        let deep = Target::Path("/project/src/a/b.rs".into());
        assert!(covers("edit_file(src/**)", "edit_file", &deep));
        assert!(!covers("edit_file(src/*)", "edit_file", &deep));
        assert!(!covers("edit_file(src/**)", "read_file", &deep));
        let outside = Target::Path("/etc/src/x".into());
        assert!(!covers("edit_file(src/**)", "edit_file", &outside));
        assert!(!covers("edit_file(**)", "edit_file", &outside));
        assert!(covers("edit_file(/etc/**)", "edit_file", &outside));
    }

    #[test]
    fn a_star_in_a_command_is_anything() {
        let command = Target::Words("git status a/b".to_owned());
        assert!(covers("run_command(git status*)", "run_command", &command));
        assert!(!covers("run_command(git push*)", "run_command", &command));
        assert!(covers("run_*", "run_command", &Target::Nothing));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "(x)", "run_command(", "run_command()", "a b", "edit_file([)"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
