//! Tools that an agent's file names.

use std::collections::BTreeSet;

use adjutant_core::Access;
use adjutant_tools::DELEGATION_TOOLS;

use super::{Definition, Findings, Linter};
use crate::{agents::order::CALL_AGENT, nearest::close};

impl Linter<'_> {
    /// Checks that every tool that is named is there.
    pub(super) fn check_tools(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let field = match definition.access {
            Access::DenyList { .. } => "disallowedTools",
            _ => "tools",
        };
        for named in definition.access.names() {
            if self.is_there(named, definition) {
                continue;
            }
            if is_servers(named) {
                let why = format!("`{field}` names `{named}`, and no server here has such tools");
                let servers = definition.servers_field();
                findings.warn(field, named, why).hint =
                    Some(format!("`{servers}` names servers for this agent alone"));
                continue;
            }
            let names = self.names();
            let names = names.iter().map(String::as_str).filter(|name| *name != CALL_AGENT);
            let meant = close(named, names);
            let why = format!("`tools` names `{named}`, which is no tool there is");
            findings.wrong("tools", named, why).hint = meant.map(|meant| match meant == named {
                true => "`sub_agents.tools` in the configuration leaves it out".to_owned(),
                false => format!("did you mean `{meant}`?"),
            });
        }
    }

    /// Returns those of the tools there are that an access leaves.
    pub(super) fn left_by(&self, access: &Access) -> BTreeSet<String> {
        let named: Vec<_> = access.names().flat_map(|name| self.ours(name)).collect();
        let is_named = |tool: &str| named.iter().any(|name| fits(name, tool));
        let tools = self.tools.iter().map(|tool| tool.spec()).filter(|spec| match access {
            Access::Inherit => true,
            Access::AllowList { .. } => is_named(&spec.name),
            Access::DenyList { .. } => !is_named(&spec.name),
            Access::ReadOnly => spec.effect.is_harmless(),
        });
        tools.map(|spec| spec.name.clone()).collect()
    }

    fn is_there(&self, named: &str, definition: &Definition) -> bool {
        if is_servers(named) {
            return self.is_of_server(named, definition);
        }
        let is_tool = |ours: &String| self.tools.iter().any(|tool| fits(ours, &tool.spec().name));
        self.ours(named).iter().any(is_tool)
    }

    #[cfg(feature = "mcp")]
    fn is_of_server(&self, named: &str, definition: &Definition) -> bool {
        self.servers.may_have(named, definition)
    }

    #[cfg(not(feature = "mcp"))]
    fn is_of_server(&self, _: &str, _: &Definition) -> bool {
        false
    }

    /// Returns what another product's tool is called here, or the name as it is.
    fn ours(&self, named: &str) -> Vec<String> {
        let mut access = Access::AllowList { tools: [named.to_owned()].into() };
        access.rename(|name| self.tools.iter().any(|tool| tool.spec().name == name));
        access.names().map(str::to_owned).collect()
    }

    /// Returns the names of all tools, with those for delegation that the configuration leaves
    /// out.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let others = DELEGATION_TOOLS.iter().map(|name| (*name).to_owned());
        names.extend(others.filter(|name| !names.contains(name)).collect::<Vec<_>>());
        names
    }
}

fn is_servers(named: &str) -> bool {
    named.starts_with("mcp__")
}

/// Reports whether a name in a list is that of a tool. A star at the end stands for any ending.
fn fits(named: &str, tool: &str) -> bool {
    match named.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => named == tool,
    }
}
