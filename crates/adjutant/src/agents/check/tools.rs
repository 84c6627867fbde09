//! Tools that an agent's file names.

use std::collections::BTreeSet;

use adjutant_core::{Access, Pattern};
use adjutant_tools::DELEGATION_TOOLS;

use super::{Definition, Findings, Linter};
use crate::{
    agents::{format::Format, order::CALL_AGENT},
    authority::is_about_servers,
    nearest::nearest,
};

impl Linter<'_> {
    /// Checks that every tool that is named is there.
    pub(super) fn check_tools(&self, definition: &Definition, findings: &mut Findings<'_>) {
        for named in definition.access.names() {
            if self.is_there(named, definition) {
                continue;
            }
            if is_servers(named) {
                let why = format!("`tools` names `{named}`, and no server here has such tools");
                findings.warn("tools", named, why).hint =
                    Some("`mcp_servers` names servers for this agent alone".to_owned());
                continue;
            }
            let names = self.names();
            let names = names.iter().map(String::as_str).filter(|name| *name != CALL_AGENT);
            let meant = nearest(named, names);
            let why = format!("`tools` names `{named}`, which is no tool there is");
            findings.wrong("tools", named, why).hint = meant.map(|meant| match meant == named {
                true => "`sub_agents.tools` in the configuration leaves it out".to_owned(),
                false => format!("did you mean `{meant}`?"),
            });
        }
    }

    /// Checks that every rule is about a tool that is there.
    pub(super) fn check_rules(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let rules = &definition.rules;
        let lists = [
            ("permissions.allow", &rules.allow),
            ("permissions.ask", &rules.ask),
            ("permissions.deny", &rules.deny),
            ("permissions.only", &rules.only),
        ];
        for (field, rule) in
            lists.into_iter().flat_map(|(field, list)| list.iter().map(move |rule| (field, rule)))
        {
            let text = rule.to_string();
            if is_about_servers(rule) {
                // Other products' files say in this way that there are no more servers.
                let is_ours = definition.origin.format == Format::Native;
                if text.contains('(') && is_ours {
                    let why =
                        format!("`{field}` has `{text}`, and servers' tools have no patterns");
                    findings.wrong(field, &text, why).hint =
                        Some("write the name of the tool alone".to_owned());
                }
            } else if !self.is_about_any(rule) {
                let tool = text.split('(').next().unwrap_or_default();
                let why = format!("`{field}` has `{text}`, which is about no tool there is");
                findings.wrong(field, &text, why).hint = Some(match self.ours(tool).as_slice() {
                    [ours, ..] if ours != tool => format!("here it is called `{ours}`"),
                    _ => format!("there are: {}", self.names().join(", ")),
                });
            }
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

    fn is_about_any(&self, rule: &Pattern) -> bool {
        self.names().iter().any(|name| rule.is_about(name))
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
