//! The port to named agents.

use futures_util::future::BoxFuture;

use crate::Order;

/// A named agent, as others are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub description: String,
}

/// Where named agents are found.
pub trait Definitions: Send + Sync {
    /// Returns the agents that the agent of that name may call; `None` is one without a name.
    fn callable(&self, caller: Option<&str>) -> Vec<Listed>;

    /// Returns an order for an agent, in which only the task is missing, or tells why there
    /// can be none.
    fn order<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Order, String>>;
}
