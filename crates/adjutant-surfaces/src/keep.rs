//! Which agents are shown when there is no room for all.

use std::{cmp::Reverse, collections::HashSet, iter::successors};

use adjutant_core::{Node, State, Tree};

/// Chooses up to `room` agents: first those that wait for a person, then those at
/// work, then those that ended last. Whoever is shown is shown below their parents.
pub(crate) fn choose(tree: &Tree, room: usize) -> HashSet<&str> {
    let mut wanted: Vec<&Node> = tree.nodes().iter().collect();
    if wanted.len() > room {
        wanted.sort_by_key(|node| rank(node));
    }
    let mut chosen = HashSet::new();
    for node in wanted {
        if chosen.len() == room {
            break;
        }
        let missing: Vec<_> = line(node).take_while(|path| !chosen.contains(path)).collect();
        if chosen.len() + missing.len() <= room {
            chosen.extend(missing);
        }
    }
    chosen
}

/// Returns the path of an agent and of everyone above it.
fn line(node: &Node) -> impl Iterator<Item = &str> {
    successors(Some(node.path.as_str()), |path| parent(path))
}

/// Returns the path above a path.
pub(crate) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

fn rank(node: &Node) -> (u8, Reverse<Option<u64>>) {
    let urgency = match node.state {
        State::Waiting => 0,
        State::Running => 1,
        State::Queued | State::Resting => 2,
        State::Completed | State::Failed | State::Cancelled | State::Interrupted => 3,
    };
    (urgency, Reverse(node.ended))
}
