//! Exceptions to a mode, written as `tool` or `tool(pattern)`.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::{Target, Verdict};

/// What stands before a command that goes onto the network.
pub const NETWORK: &str = "network: ";

/// What stands before a command that is run without the sandbox.
pub const UNCONFINED: &str = "unconfined: ";

/// Exceptions to a mode, of one layer. A deny beats an ask, an ask beats an allow, whatever
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
    /// All that is left of the tools these speak of: any other call of them is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Pattern>,
}

impl Rules {
    /// Reports whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.patterns().next().is_none()
    }

    /// Returns all of them.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.allow.iter().chain(&self.ask).chain(&self.deny).chain(&self.only)
    }

    /// Reports whether some calls of a tool are forbidden or asked about, and others not.
    pub(crate) fn distinguish(&self, tool: &str) -> bool {
        let mut stricter = self.deny.iter().chain(&self.ask);
        stricter.any(|pattern| pattern.is_specific() && pattern.is_about(tool))
    }

    /// Returns the rules that leave of a tool only other calls than one that touches a target,
    /// whatever it counts as.
    pub(crate) fn bounds(
        &self,
        tool: &str,
        target: &[&Target],
        scope: &[PathBuf],
    ) -> Vec<&Pattern> {
        let about = || self.only.iter().filter(|pattern| pattern.is_about(tool));
        let covers = |pattern: &Pattern| target.iter().any(|it| pattern.covers(tool, it, scope));
        if about().any(covers) { Vec::new() } else { about().collect() }
    }

    /// Returns the strictest rule that speaks of a call, and its verdict.
    fn find(&self, tool: &str, target: &Target, scope: &[PathBuf]) -> Option<(Verdict, &Pattern)> {
        let lists =
            [(Verdict::Deny, &self.deny), (Verdict::Ask, &self.ask), (Verdict::Allow, &self.allow)];
        lists.into_iter().find_map(|(verdict, patterns)| {
            let speaks = |pattern: &&Pattern| match verdict {
                Verdict::Allow => pattern.allows(tool, target, scope),
                Verdict::Ask | Verdict::Deny => pattern.covers(tool, target, scope),
            };
            let pattern = patterns.iter().find(speaks)?;
            Some((verdict, pattern))
        })
    }
}

/// Returns the rule that decides a call. A deny of any layer does; otherwise the strongest
/// layer that speaks of it, which is the last.
pub(crate) fn find<'a>(
    layers: &'a [Rules],
    tool: &str,
    target: &Target,
    scope: &[PathBuf],
) -> Option<(Verdict, &'a Pattern)> {
    let mut found = layers.iter().rev().filter_map(|rules| rules.find(tool, target, scope));
    let strongest = found.next()?;
    let is_deny = |(verdict, _): &(Verdict, &Pattern)| *verdict == Verdict::Deny;
    Some(if is_deny(&strongest) { strongest } else { found.find(is_deny).unwrap_or(strongest) })
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
    /// that is. It means the same wherever it is read.
    pub fn exactly(tool: &str, target: &Target) -> Option<Self> {
        // A backslash, which would escape what follows, is not among what is escaped.
        let escape = |text: &str| globset::escape(text).replace('\\', r"[\]");
        let tool = escape(tool);
        let text = match target {
            Target::Unclear(_) => return None,
            Target::Nothing => tool,
            Target::Words(words) => format!("{tool}({})", escape(words)),
            Target::Path(path) => format!("{tool}({})", escape(path.to_str()?)),
        };
        text.parse().ok()
    }

    /// Reports whether the rule may allow a call that touches a target: the network, and what
    /// is without a sandbox, it has to name.
    pub(crate) fn allows(&self, tool: &str, target: &Target, scope: &[PathBuf]) -> bool {
        let way = match target {
            Target::Words(words) | Target::Unclear(words) => {
                [NETWORK, UNCONFINED].into_iter().find(|it| words.starts_with(it))
            }
            Target::Path(_) | Target::Nothing => None,
        };
        let argument = self.text.split_once('(').map_or("", |(_, argument)| argument);
        way.is_none_or(|way| argument.starts_with(way)) && self.covers(tool, target, scope)
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
    fn a_stronger_layer_decides_unless_any_layer_denies() {
        let rules = |allow: &[&str], ask: &[&str], deny: &[&str]| {
            let list = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
            Rules { allow: list(allow), ask: list(ask), deny: list(deny), only: Vec::new() }
        };
        let verdict = |layers: &[Rules]| find(layers, "a", &Target::Nothing, &[]).map(|it| it.0);
        let (allow, ask) = (rules(&["a"], &[], &[]), rules(&[], &["a"], &[]));
        let (deny, other) = (rules(&[], &[], &["a"]), rules(&["b"], &["b"], &["b"]));
        assert_eq!(verdict(&[ask.clone(), allow.clone()]), Some(Verdict::Allow));
        assert_eq!(verdict(&[allow.clone(), ask.clone(), other.clone()]), Some(Verdict::Ask));
        assert_eq!(verdict(&[deny, ask, allow]), Some(Verdict::Deny));
        assert_eq!(verdict(&[rules(&["a"], &["a"], &[])]), Some(Verdict::Ask));
        assert_eq!(verdict(&[other]), None);
    }

    #[test]
    fn the_network_is_allowed_only_by_a_rule_that_names_it() {
        let allows = |rule: &str, words: &str| {
            let rule: Pattern = rule.parse().unwrap();
            rule.allows("run_command", &Target::Words(words.to_owned()), &[])
        };
        assert!(allows("run_command(network: cargo *)", "network: cargo fetch"));
        assert!(allows("run_command(unconfined: *)", "unconfined: make"));
        for rule in ["run_command", "run_command(*)", "run_command(unconfined: *)", "*"] {
            assert!(!allows(rule, "network: cargo fetch"), "{rule}");
        }
        let unclear = Target::Unclear("network: $x".to_owned());
        let all: Pattern = "run_command".parse().unwrap();
        assert!(!all.allows("run_command", &unclear, &[]));
        // What forbids forbids all of it.
        assert!(all.covers("run_command", &Target::Words("network: make".to_owned()), &[]));
    }

    #[test]
    fn an_exact_rule_speaks_of_one_thing_alone() {
        let path = Target::Path("/project/a[1]*.rs".into());
        let rule = Pattern::exactly("edit_file", &path).unwrap();
        assert!(rule.covers("edit_file", &path, &[]));
        for other in ["/project/a1x.rs", "/project/a[1]x.rs", "/other/a[1]*.rs"] {
            assert!(!rule.covers("edit_file", &Target::Path(other.into()), &[]), "{other}");
        }
        let words = Target::Words("make (a) {b,c} \\* ?".to_owned());
        let rule = Pattern::exactly("run_command", &words).unwrap();
        assert!(rule.covers("run_command", &words, &[]));
        assert!(!rule.covers("run_command", &Target::Words("make (a) b \\x y".to_owned()), &[]));
        assert_eq!(Pattern::exactly("run_command", &Target::Unclear("$x".to_owned())), None);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "(x)", "run_command(", "run_command()", "a b", "edit_file([)"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
