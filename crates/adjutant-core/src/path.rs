//! Where an agent stands in the tree.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest name a child can have in its path.
const NAME_LENGTH: usize = 24;

/// An agent's place: `root`, `root.scout-1`, `root.scout-1.reader-2`.
///
/// The prefix *is* the subtree: in memory, in the journal, as a message subject
/// and on the screen.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentPath(Arc<str>);

/// The text is not the path of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an agent's path: expected something like `root.scout-1`")]
pub struct BadPath(pub String);

impl AgentPath {
    /// Returns the path of the agent a person talks to.
    pub fn root() -> Self {
        Self("root".into())
    }

    /// Returns the path of this agent's `number`th child.
    pub fn child(&self, name: &str, number: u32) -> Self {
        Self(format!("{}.{}-{number}", self.0, slug(name)).into())
    }

    /// Returns the path of the agent that delegated to this one.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('.').map(|(parent, _)| Self(parent.into()))
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('.').map_or(&*self.0, |(_, name)| name)
    }

    /// Returns how many levels below the root the agent stands.
    pub fn depth(&self) -> usize {
        self.0.matches('.').count()
    }

    /// Reports whether this agent is `top` or stands anywhere below it.
    pub fn is_within(&self, top: &Self) -> bool {
        match self.0.strip_prefix(&*top.0) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        }
    }

    /// Reports whether this agent stands below `top`.
    pub fn is_below(&self, top: &Self) -> bool {
        self != top && self.is_within(top)
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let mut names = text.split('.');
        let starts_at_root = names.next() == Some("root");
        if starts_at_root && names.all(is_name) {
            Ok(Self(text.into()))
        } else {
            Err(BadPath(text.to_owned()))
        }
    }
}

impl TryFrom<String> for AgentPath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        text.parse()
    }
}

impl From<AgentPath> for String {
    fn from(path: AgentPath) -> Self {
        path.0.as_ref().to_owned()
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_allowed)
}

/// Makes a name fit to stand in a path; an empty one becomes `agent`.
fn slug(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().take(NAME_LENGTH).map(keep).collect();
    match slug.trim_matches('-') {
        "" => "agent".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_with_the_same_prefix_is_not_within() {
        let scout = AgentPath::root().child("scout", 1);
        let eleventh = AgentPath::root().child("scout", 11);
        assert!(scout.is_within(&AgentPath::root()));
        assert!(!eleventh.is_within(&scout));
        assert!(!scout.is_below(&scout));
        assert_eq!(scout.child("reader", 2).parent(), Some(scout));
    }

    #[test]
    fn a_name_cannot_break_out_of_its_place() {
        for name in ["a.b", "../x", "root.*", "", "   ", "ünïcode", "*>"] {
            let path = AgentPath::root().child(name, 1);
            assert_eq!(path.depth(), 1, "{path}");
            assert_eq!(path.as_str().parse(), Ok(path.clone()));
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for text in ["", "scout-1", "root.", "root..a", "root.a b", "root.*", "Root"] {
            assert!(text.parse::<AgentPath>().is_err(), "{text}");
        }
    }
}
