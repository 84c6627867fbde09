//! The port to named agents.

use std::path::Path;

use futures_util::future::BoxFuture;

use crate::{Grant, Order};

/// A named agent, as others are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// What it is good for.
    pub description: String,
}

/// Who calls a named agent.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The named agent it is itself; `None` is one without a name.
    pub agent: Option<&'a str>,
    /// What it may do.
    pub grant: &'a Grant,
    /// Where it works.
    pub workdir: &'a Path,
}

/// Where named agents are found.
pub trait Definitions: Send + Sync {
    /// Returns the agents that the agent of that name may call; `None` is one without a name.
    fn callable(&self, caller: Option<&str>) -> Vec<Listed>;

    /// Returns an order for an agent, in which only the task is missing, or tells why there
    /// can be none.
    fn order<'a>(
        &'a self,
        caller: Caller<'a>,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Order, String>>;
}
