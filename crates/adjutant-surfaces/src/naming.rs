//! Which named agent a root is.

use adjutant_core::{AgentPath, Node};

use crate::sanitize::one_line;

/// Returns what is said beside an agent's path: its name, if it is a root that has one. Others
/// have theirs in their paths.
pub(crate) fn beside(node: &Node) -> String {
    match &node.agent {
        Some(agent) if node.path == AgentPath::root() => format!(" ({})", one_line(agent)),
        _ => String::new(),
    }
}
