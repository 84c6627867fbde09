//! Patterns for file names.

use adjutant_core::ToolError;
use globset::{GlobBuilder, GlobMatcher};

use crate::walk::Hidden;

/// A pattern, matched against paths below the directory that is looked through. One
/// without `/` is matched against names at any depth.
pub(crate) struct Glob {
    matcher: GlobMatcher,
    /// Whether the pattern speaks of names that start with a dot.
    pub(crate) hidden: Hidden,
}

/// Where a pattern without `/` is matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Anywhere,
    Top,
}

impl Glob {
    pub(crate) fn new(text: &str) -> Result<Self, ToolError> {
        Self::reaching(text, Reach::Anywhere)
    }

    /// Makes a pattern that is matched from the top down, also without `/`.
    pub(crate) fn from_top(text: &str) -> Result<Self, ToolError> {
        Self::reaching(text, Reach::Top)
    }

    fn reaching(text: &str, reach: Reach) -> Result<Self, ToolError> {
        let bad = |why: &str| ToolError(format!("`{text}` is not a pattern: {why}"));
        let pattern = text.strip_prefix("./").unwrap_or(text);
        if pattern.is_empty() {
            return Err(bad("it is empty; `**` is every file"));
        }
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(bad("it is matched below `path`, so put the directory there"));
        }
        let names_hidden = pattern.split('/').any(|part| part.starts_with('.'));
        let hidden = if names_hidden { Hidden::Shown } else { Hidden::Skipped };
        let is_anchored = pattern.contains('/') || reach == Reach::Top;
        let anywhere = if is_anchored { "" } else { "**/" };
        let glob =
            GlobBuilder::new(&format!("{anywhere}{pattern}")).literal_separator(true).build();
        let matcher = glob.map_err(|error| bad(&error.kind().to_string()))?.compile_matcher();
        Ok(Self { matcher, hidden })
    }

    pub(crate) fn is_match(&self, path: &std::path::Path) -> bool {
        self.matcher.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        let is_match = |glob: &str, path: &str| Glob::new(glob).unwrap().is_match(path.as_ref());
        assert!(is_match("src/*.rs", "src/a.rs"));
        assert!(!is_match("src/*.rs", "src/b/a.rs"));
        assert!(is_match("./src/**/*.rs", "src/b/a.rs"));
        assert!(is_match("src/**/*.rs", "src/a.rs"));
        assert!(is_match("*.rs", "src/b/a.rs"));
        assert!(is_match("*.{rs,toml}", "Cargo.toml"));
    }

    #[test]
    fn a_name_alone_is_found_anywhere_unless_it_is_meant_from_the_top() {
        let from_top = Glob::from_top("*.rs").unwrap();
        assert!(from_top.is_match("a.rs".as_ref()));
        assert!(!from_top.is_match("src/a.rs".as_ref()));
    }

    #[test]
    fn a_pattern_that_cannot_match_is_refused() {
        for text in ["", "/etc/*", "../*", "a/../../b", "[", "{a"] {
            assert!(Glob::new(text).is_err(), "{text}");
        }
    }
}
