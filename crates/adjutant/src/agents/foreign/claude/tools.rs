//! Which tools a file of Claude Code's names, and what it leaves of them.

use std::collections::BTreeSet;

use adjutant_core::{Access, names};
use serde_json::Value;

use crate::agents::{
    definition::{Callable, Definition, Owner},
    fields::Fields,
    foreign::{
        shared::called,
        specifier::{Specifier, split},
    },
};

/// What agents are called with there.
const CALLS: [&str; 2] = ["Agent", "Task"];

/// A rule about the tools of all servers, which fits no call of them.
const ANY_SERVER: &str = "mcp__*(none)";

/// The tools an agent has not.
#[derive(Default)]
struct Denied {
    tools: BTreeSet<String>,
    /// Whom it may call all the same.
    callable: Option<Callable>,
}

/// Takes the tools an agent has, those it has not, and whom it may call.
pub(super) fn read(fields: &mut Fields<'_>, definition: &mut Definition, owner: &Owner) {
    let denied = denied(fields);
    let wanted = items(fields, "tools").filter(|wanted| wanted.iter().all(|it| it != "*"));
    let servers = servers(fields, definition);
    definition.access = match wanted {
        None => {
            definition.callable = Callable::All;
            if let Some(servers) = servers {
                bind(definition, servers);
            }
            match denied.tools.is_empty() {
                true => Access::Inherit,
                false => Access::DenyList { tools: denied.tools },
            }
        }
        Some(wanted) => {
            let mut tools = listed(fields, &wanted, definition, owner);
            tools.extend(servers.into_iter().flatten());
            tools.retain(|tool| !denied.tools.iter().any(|denied| names(denied, tool)));
            let is_idle = tools.is_empty() && definition.callable == Callable::Nobody;
            if is_idle && !wanted.is_empty() {
                let hint = "an agent without tools has `tools: []`";
                fields.refuse("tools", "leaves it no tool there is", hint);
            }
            // One tool of a server cannot be left out of a list that names all.
            let single = denied.tools.iter().filter(|name| name.starts_with("mcp__"));
            definition.rules.deny.extend(single.filter_map(|name| name.parse().ok()));
            Access::AllowList { tools }
        }
    };
    if let Some(callable) = denied.callable {
        definition.callable = callable;
        definition.children.depth = Some(0);
    }
}

/// Takes names with commas between them, or a list of names. A field that is there and names
/// nothing could mean all or none.
fn items(fields: &mut Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    let owned = |text: &str| split(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let items = match fields.take(name)? {
        Value::String(list) => Some(owned(&list)).filter(|items| !items.is_empty()),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| item.as_str().map(owned)).collect();
            items.map(|items| items.concat())
        }
        _ => None,
    };
    if items.is_none() {
        let hint = "leave it out for all tools, or write `[]` for none";
        fields.refuse(name, "has to be names with commas between them, or a list of names", hint);
    }
    items
}

/// Takes the tools it has not. A part of a tool stands for the whole.
fn denied(fields: &mut Fields<'_>) -> Denied {
    let mut denied = Denied::default();
    for item in items(fields, "disallowedTools").unwrap_or_default() {
        let named = match Specifier::read(&item) {
            Ok(named) => named,
            Err(why) => {
                fields.wrong("disallowedTools", format!("has {why}"));
                continue;
            }
        };
        if named.part.is_some_and(|part| part != "*") {
            let (item, tool) = (item.escape_debug(), named.tool.escape_debug());
            let why = format!("has `{item}`, which takes all of `{tool}` away");
            fields.warn("disallowedTools", why, Some("a tool is kept from it whole or not at all"));
        }
        if is_call(named) {
            denied.callable = Some(Callable::Nobody);
        } else if named.tool == "*" {
            fields.wrong("disallowedTools", "has `*`, which leaves nothing: write `tools: []`");
        } else {
            match named.tools() {
                Some(tools) => denied.tools.extend(tools),
                None => unknown(fields, "disallowedTools", named),
            }
        }
    }
    denied
}

/// Returns the tools of a list, and notes what is left of them and who may be called.
fn listed(
    fields: &mut Fields<'_>,
    wanted: &[String],
    definition: &mut Definition,
    owner: &Owner,
) -> BTreeSet<String> {
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    for item in wanted {
        let named = Specifier::read(item);
        if let Ok(named) = named
            && is_call(named)
        {
            call(named, &mut definition.callable);
            continue;
        }
        match named.and_then(|named| Ok((named, named.scope(owner)?))) {
            Ok((_, Some(scope))) => {
                if scope.only.is_empty() { &mut whole } else { &mut parts }.extend(scope.tools);
                definition.rules.only.extend(scope.only);
            }
            Ok((named, None)) => unknown(fields, "tools", named),
            Err(why) => fields.wrong("tools", format!("has {why}")),
        }
    }
    let is_bound = |tool: &&String| definition.rules.only.iter().any(|only| only.is_about(tool));
    if let Some(both) = whole.iter().find(is_bound) {
        let why = format!("names `{both}` whole and in part, and only the part holds");
        fields.warn("tools", why, Some("leave one of the two out"));
    }
    whole.append(&mut parts);
    whole
}

fn is_call(named: Specifier<'_>) -> bool {
    CALLS.iter().any(|call| call.eq_ignore_ascii_case(named.tool))
}

/// Notes who may be called: all, or those that are named.
fn call(named: Specifier<'_>, callable: &mut Callable) {
    let names = named.part.filter(|part| *part != "*").map(split).unwrap_or_default();
    let names = names.into_iter().map(called);
    match callable {
        Callable::All => {}
        _ if named.part.is_none_or(|part| part == "*") => *callable = Callable::All,
        Callable::Only(only) => only.extend(names),
        Callable::Nobody => *callable = Callable::Only(names.collect()),
    }
}

/// Says that nobody has a tool.
fn unknown(fields: &mut Fields<'_>, field: &str, named: Specifier<'_>) {
    let why = format!("names `{}`, which there is not here", named.tool.escape_debug());
    let hint = match named.tool.eq_ignore_ascii_case("skill") {
        true => "what reads skills comes by itself where `skills` names some",
        false => "leave it out, or name a tool that there is",
    };
    fields.drop(field, why, Some(hint));
}

/// Takes the servers: names of those that whoever runs it has, and others that it alone has.
/// Returns what the tools of the former are called.
fn servers(fields: &mut Fields<'_>, definition: &mut Definition) -> Option<Vec<String>> {
    let entries = match fields.take("mcpServers")? {
        Value::Null => return None,
        Value::Array(entries) => entries,
        entry @ (Value::Object(_) | Value::String(_)) => vec![entry],
        _ => {
            fields.drop("mcpServers", "has to be a list of names or of servers", None);
            Vec::new()
        }
    };
    let mut tools = Vec::new();
    for entry in entries {
        match entry {
            Value::String(name) => tools.extend(tools_of(&name)),
            Value::Object(servers) => {
                for (name, server) in servers {
                    if let Err(why) = add(definition, &name, server) {
                        let why = format!("has `{}`, which {why}", name.escape_debug());
                        fields.drop("mcpServers", why, None);
                    }
                }
            }
            _ => fields.drop("mcpServers", "has what is neither a name nor a server", None),
        }
    }
    Some(tools)
}

/// Leaves of all servers' tools those that are named, and those of its own servers.
fn bind(definition: &mut Definition, named: Vec<String>) {
    // This is about every server's tools and fits no call, as they have no parts.
    let mut left = vec![ANY_SERVER.to_owned()];
    left.extend(named);
    #[cfg(feature = "mcp")]
    left.extend(definition.servers.iter().map(|server| server.prefix() + "*"));
    definition.rules.only.extend(left.iter().filter_map(|rule| rule.parse().ok()));
}

fn tools_of(server: &str) -> Option<String> {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let fit: String = server.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
    (!fit.is_empty()).then(|| format!("mcp__{fit}__*"))
}

#[cfg(feature = "mcp")]
fn add(definition: &mut Definition, name: &str, server: Value) -> Result<(), String> {
    let server = adjutant_tools::mcp::Server::of_entry(name, server)?;
    if definition.servers.iter().any(|other| other.name() == name) {
        return Err("is there twice".to_owned());
    }
    definition.servers.push(server);
    Ok(())
}

#[cfg(not(feature = "mcp"))]
fn add(_: &mut Definition, _: &str, _: Value) -> Result<(), String> {
    Err("cannot be: this program was built without servers".to_owned())
}
