//! A tree as it is drawn: who stands below whom, and what each branch has spent.

use std::collections::{HashMap, HashSet};

use adjutant_core::{AgentPath, Node, Tree};

use crate::keep::parent;

/// The agents to draw, by their parent, and the tokens of every branch. Made once a
/// picture, since the tree itself would be searched for each agent.
pub(crate) struct Branches<'a> {
    root: Option<&'a Node>,
    children: HashMap<&'a str, Vec<&'a Node>>,
    tokens: HashMap<&'a str, u64>,
}

impl<'a> Branches<'a> {
    pub(crate) fn of(tree: &'a Tree, shown: &HashSet<&str>) -> Self {
        let root = tree.node(&AgentPath::root()).filter(|root| shown.contains(root.path.as_str()));
        let mut children: HashMap<_, Vec<_>> = HashMap::new();
        let mut tokens: HashMap<_, u64> = HashMap::new();
        for node in tree.nodes() {
            let path = node.path.as_str();
            if let Some(parent) = parent(path).filter(|_| shown.contains(path)) {
                children.entry(parent).or_default().push(node);
            }
        }
        // Nobody starts before their parent, so backwards every branch is summed before its stem.
        for node in tree.nodes().iter().rev() {
            let path = node.path.as_str();
            let sum = tokens.entry(path).or_default();
            *sum += node.usage.total();
            let sum = *sum;
            if let Some(parent) = parent(path) {
                *tokens.entry(parent).or_default() += sum;
            }
        }
        Self { root, children, tokens }
    }

    /// Returns the tokens of an agent and of everyone below it.
    pub(crate) fn tokens(&self, node: &Node) -> u64 {
        self.tokens.get(node.path.as_str()).copied().unwrap_or_default()
    }

    /// Returns the agents from the root downwards, each with the lines that lead to
    /// it.
    pub(crate) fn rows(&self) -> Vec<(String, &'a Node)> {
        let mut rows = Vec::new();
        if let Some(root) = self.root {
            rows.push((String::new(), root));
            self.grow(root, "", &mut rows);
        }
        rows
    }

    fn grow(&self, node: &Node, stem: &str, rows: &mut Vec<(String, &'a Node)>) {
        let children = self.children.get(node.path.as_str()).map_or(&[][..], Vec::as_slice);
        for (number, child) in (1..).zip(children) {
            let is_last = number == children.len();
            let (joint, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            rows.push((format!("{stem}{joint}"), child));
            self.grow(child, &format!("{stem}{below}"), rows);
        }
    }
}
