//! The tools an agent is offered.

use std::sync::Arc;

use adjutant_core::{Grant, Order, ReadOn, Tool, ToolSpec, grant::names};

/// The tools an agent is offered.
#[derive(Default)]
pub(crate) struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
    pub(crate) specs: Vec<Arc<ToolSpec>>,
}

impl ToolSet {
    /// Returns those of the session's tools that a grant offers and that have something to
    /// offer to the agent of that order.
    pub(crate) fn of(all: &[Arc<dyn Tool>], grant: &Grant, order: &Order) -> Self {
        let offered = all.iter().filter_map(|tool| Some((tool, tool.offer(order, grant)?)));
        let offered = offered.filter(|(_, spec)| grant.offers(spec));
        let (tools, specs) = offered.map(|(tool, spec)| (Arc::clone(tool), spec)).unzip();
        Self { tools, specs }
    }

    pub(crate) fn find(&self, name: &str) -> Option<(&Arc<dyn Tool>, &Arc<ToolSpec>)> {
        let place = self.specs.iter().position(|spec| spec.name == name)?;
        Some((&self.tools[place], &self.specs[place]))
    }

    /// Reports whether there is a tool of that name; a star at its end stands for any ending.
    pub(crate) fn has(&self, named: &str) -> bool {
        self.specs.iter().any(|spec| names(named, &spec.name))
    }

    /// Returns how the agent can have words of another that were left out.
    pub(crate) fn read_on(&self) -> ReadOn {
        let takes_offset =
            |spec: &ToolSpec| spec.parameters.pointer("/properties/offset").is_some();
        match self.find("agent_status") {
            Some((_, spec)) if takes_offset(spec) => ReadOn::Status,
            Some(_) | None => ReadOn::Transcript,
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.specs.iter().map(|spec| spec.name.clone()).collect()
    }
}
