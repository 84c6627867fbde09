//! Our own format: TOML with a field for everything an agent can be.

mod hosts;
mod limits;
mod schema;
mod servers;
#[cfg(test)]
mod tests;
mod variables;

use std::num::NonZeroU64;

use adjutant_core::{Access, Calls, Isolation, Mode, Rules};

use super::{
    definition::{Artifacts, Callable, Children, Definition, Guidance, Input, Memory, Origin},
    fields::Fields,
    format::Format,
    name,
    order::CALL_AGENT,
    problem::{Problem, Severity},
    text::Written,
};

/// The deepest a tree may go below an agent.
const DEEPEST: u64 = 5;

/// How many records there are before a person is told to clean up.
pub(super) const MOST_RECORDS: NonZeroU64 = NonZeroU64::new(100).unwrap();

/// How many of the last records an agent is told.
pub(super) const LAST_RECORDS: u64 = 10;

/// Where an agent may work.
const ISOLATIONS: [(&str, Isolation); 2] =
    [("shared", Isolation::Shared), ("worktree", Isolation::Worktree)];

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    let mut fields = match Fields::of_toml(written) {
        Ok(fields) => fields,
        Err(problem) => return (None, vec![problem]),
    };
    let definition = definition(&mut fields, written);
    let mut problems = fields.end(Severity::Error);
    let is_refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    let is_silent = definition.prompt.trim().is_empty() && definition.skills.is_empty();
    // What else is wrong may be why it is silent.
    if is_silent && !is_refused {
        let why = "says nothing to its model: it has neither `system_prompt` nor `skill`";
        problems.push(Problem::of(Severity::Error, &written.file, why));
    }
    ((!is_refused && !is_silent).then_some(definition), problems)
}

/// Takes every field there is.
pub(super) fn definition(fields: &mut Fields<'_>, written: &Written) -> Definition {
    check_stream(fields);
    let mut definition = Definition {
        name: agent_name(fields, written),
        description: fields.text("description").unwrap_or_default(),
        prompt: fields.text("system_prompt").unwrap_or_default(),
        model: fields.word("model"),
        skills: fields.texts("skill").unwrap_or_default(),
        files: fields.list("files").unwrap_or_default(),
        workdir: fields.path("workdir"),
        access: access(fields),
        mode: fields.choice("mode", &Mode::ALL.map(|mode| (mode.name(), mode))),
        rules: rules(fields),
        allowance: limits::allowance(fields),
        manner: limits::manner(fields),
        schema: schema::read(fields, written),
        memory: memory(fields),
        artifacts: artifacts(fields),
        variables: variables::read(fields),
        isolation: fields.choice("isolation", &ISOLATIONS).unwrap_or_default(),
        guidance: guidance(fields),
        ..Definition::default()
    };
    children(fields, &mut definition);
    #[cfg(feature = "mcp")]
    {
        definition.servers = servers::read(fields);
    }
    #[cfg(not(feature = "mcp"))]
    servers::refuse(fields);
    definition.origin = Origin::new(written, Format::Native, fields.lines());
    definition
}

fn agent_name(fields: &mut Fields<'_>, written: &Written) -> String {
    let said = fields.text("name");
    let found = said.as_deref().unwrap_or(&written.name);
    if let Err(why) = name::check(found) {
        fields.refuse("name", why, "an agent without a `name` is called like its file");
    } else if found != written.name {
        let why = format!("is `{found}`, and the file is called `{}`", written.name);
        fields.warn("name", why, Some("it is called by its `name`"));
    }
    found.to_owned()
}

/// Streaming is how models are always asked here.
fn check_stream(fields: &mut Fields<'_>) {
    if fields.flag("stream") == Some(false) {
        let why = "cannot be `false`: what a model says is always taken while it says it";
        fields.refuse("stream", why, "leave it out; stdout has the whole answer in any case");
    }
}

fn access(fields: &mut Fields<'_>) -> Access {
    let Some(tools) = fields.list("tools") else { return Access::Inherit };
    for tool in &tools {
        if tool == CALL_AGENT {
            let why = "has `call_agent`, which comes by itself where `sub_agents` names agents";
            fields.wrong_item("tools", tool, why);
        } else if tool.contains('(') {
            let why = format!(
                "has `{tool}`, and a tool is named there without a pattern; `permissions.only` \
                 takes patterns"
            );
            fields.wrong_item("tools", tool, why);
        } else if tool.trim().is_empty() {
            fields.wrong_item("tools", tool, "has a name that is empty");
        }
    }
    Access::AllowList { tools: tools.into_iter().collect() }
}

fn rules(fields: &mut Fields<'_>) -> Rules {
    let mut rules = Rules::default();
    let mut table = fields.section("permissions");
    let Rules { allow, ask, deny, only } = &mut rules;
    for (name, list) in [("allow", allow), ("ask", ask), ("deny", deny), ("only", only)] {
        for rule in table.list(name).unwrap_or_default() {
            match rule.parse() {
                Ok(pattern) => list.push(pattern),
                Err(error) => table.wrong_item(name, &rule, format!("has a wrong rule: {error}")),
            }
        }
    }
    fields.end_table(table);
    hosts::read(fields, &mut rules);
    rules
}

fn children(fields: &mut Fields<'_>, definition: &mut Definition) {
    let names = fields.list("sub_agents").unwrap_or_default();
    for called in &names {
        if let Err(why) = name::check(called) {
            fields.wrong_item("sub_agents", called, format!("has a name that {why}"));
        }
    }
    if !names.is_empty() {
        definition.callable = Callable::Only(names);
    }
    let mut table = fields.section("sub_agents_config");
    if !table.is_empty() && definition.callable == Callable::Nobody {
        fields.warn("sub_agents_config", "is about nobody: `sub_agents` names no agent", None);
    }
    let depth = table.whole("max_depth");
    if depth.is_some_and(|depth| depth > DEEPEST) {
        table.wrong("max_depth", format!("cannot exceed {DEEPEST}"));
    }
    definition.children = Children {
        depth: depth.and_then(|depth| u8::try_from(depth).ok()),
        timeout: table.seconds("timeout"),
    };
    definition.manner.calls = match table.flag("parallel") {
        Some(false) => Calls::OneByOne,
        Some(true) | None => Calls::Together,
    };
    fields.end_table(table);
}

fn memory(fields: &mut Fields<'_>) -> Option<Memory> {
    let mut table = fields.section("memory");
    let is_enabled = is_enabled(&mut table);
    let memory = Memory {
        path: table.path("path"),
        last: NonZeroU64::new(table.whole("last_n").unwrap_or(LAST_RECORDS)),
        most: table.count("max_entries").unwrap_or(MOST_RECORDS),
        input: match table.flag("store_input") {
            Some(true) => Input::Kept,
            Some(false) | None => Input::Measured,
        },
    };
    fields.end_table(table);
    is_enabled.then_some(memory)
}

fn artifacts(fields: &mut Fields<'_>) -> Option<Artifacts> {
    let mut table = fields.section("artifacts");
    let is_enabled = is_enabled(&mut table);
    let artifacts = Artifacts { directory: table.path("dir") };
    if table.take("default_write").is_some() {
        let hint = "the tool `write_artifact` hands back what is written with it";
        table.refuse("default_write", "cannot be: what is handed back is said in each call", hint);
    }
    fields.end_table(table);
    is_enabled.then_some(artifacts)
}

/// Takes whether a table is to count at all.
fn is_enabled(table: &mut Fields<'_>) -> bool {
    let is_enabled = table.flag("enabled").unwrap_or_default();
    if !is_enabled && !table.is_empty() {
        table.warn("enabled", "is not `true`, so nothing else in the table counts", None);
    }
    is_enabled
}

fn guidance(fields: &mut Fields<'_>) -> Guidance {
    match fields.flag("agents_md") {
        Some(false) => Guidance::Omitted,
        Some(true) | None => Guidance::Told,
    }
}
