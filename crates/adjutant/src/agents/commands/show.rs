//! `adjutant agents show`: all that one agent is.

use std::io::{self, Write};

use adjutant_core::{Access, Calls, Isolation, Rules};
use adjutant_surfaces::sanitize::clean;
use serde_json::{Map, Value, json};

use super::{Desk, owner, problem};
use crate::{
    CliError,
    agents::{
        definition::{Callable, Definition, Guidance, Input},
        order::is_file,
        problem::Problem,
    },
    config::Config,
};

/// A fact about an agent: what it is called, what it is, and what it is where its file does not
/// say.
type Fact = (&'static str, Value, &'static str);

/// Shows an agent, by its name or its file.
pub(super) fn show(
    desk: &Desk<'_>,
    name: &str,
    json: bool,
    to: &mut dyn Write,
) -> Result<(), CliError> {
    let library = &desk.agents.library;
    let definition = match is_file(name) {
        true => library.find_file(&desk.around.directory.join(name))?,
        false => library.find(name)?,
    };
    let entry = library.entry(&definition.origin.file);
    let problems = entry.into_iter().flat_map(|entry| &entry.problems);
    let problems: Vec<_> = problems.chain(desk.agents.told.problems_of(&definition.name)).collect();
    let facts = facts(definition, &desk.config);
    match json {
        true => write_json(definition, &problems, facts, to)?,
        false => write_text(desk, definition, &problems, &facts, to)?,
    }
    Ok(())
}

fn write_json(
    definition: &Definition,
    problems: &[&Problem],
    facts: Vec<Fact>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let origin = &definition.origin;
    let mut shown: Map<_, _> =
        facts.into_iter().map(|(name, value, _)| (name.to_owned(), value)).collect();
    shown.insert("system_prompt".to_owned(), json!(definition.prompt));
    shown.insert("output_schema".to_owned(), json!(definition.schema));
    shown.insert("file".to_owned(), json!(origin.file.display().to_string()));
    shown.insert("format".to_owned(), json!(origin.format.name()));
    shown.insert("owner".to_owned(), json!(owner(&origin.owner)));
    let problems = problems.iter().map(|it| problem(it)).collect();
    shown.insert("problems".to_owned(), problems);
    super::write_json(&Value::Object(shown), to)
}

fn write_text(
    desk: &Desk<'_>,
    definition: &Definition,
    problems: &[&Problem],
    facts: &[Fact],
    to: &mut dyn Write,
) -> io::Result<()> {
    let origin = &definition.origin;
    let (file, format) = (desk.short(&origin.file), origin.format.name());
    writeln!(to, "{:27} {file} ({}'s, {format})", "file", owner(&origin.owner))?;
    for (name, value, otherwise) in facts {
        let shown = if is_nothing(value) { (*otherwise).to_owned() } else { plain(value) };
        if !shown.is_empty() {
            writeln!(to, "{name:27} {}", clean(&shown).replace('\n', " "))?;
        }
    }
    let schema = definition.schema.as_ref().map(|schema| format!("{schema:#}"));
    let texts =
        [("output_schema", schema.as_deref()), ("system_prompt", Some(&*definition.prompt))];
    for (name, text) in texts {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            writeln!(to, "\n{name}:\n{}", clean(text).trim_end())?;
        }
    }
    for problem in problems {
        writeln!(to, "\n{problem}")?;
        if let Some(hint) = &problem.hint {
            writeln!(to, "  hint: {}", clean(hint))?;
        }
    }
    Ok(())
}

/// Returns what an agent is with a configuration, in the words of our own format.
fn facts(it: &Definition, config: &Config) -> Vec<Fact> {
    let is_told = config.agents_md && it.guidance == Guidance::Told;
    let mut facts = vec![
        ("name", json!(it.name), ""),
        ("description", json!(it.description), "none"),
        ("model", json!(it.model), "its caller's; as the root, the configuration's"),
        ("mode", json!(it.mode.map(|mode| mode.name())), "its caller's"),
        ("tools", tools(&it.access), "all its caller has"),
        ("skill", json!(it.skills), ""),
        ("files", json!(it.files), ""),
        ("workdir", json!(it.workdir), "where its caller works"),
        ("isolation", json!((it.isolation == Isolation::Worktree).then_some("worktree")), "shared"),
        ("agents_md", json!((!is_told).then_some(false)), "told"),
    ];
    facts.extend(rules(&it.rules));
    facts.extend(limits(it));
    facts.extend(children(it));
    facts.extend(kept(it));
    #[cfg(feature = "mcp")]
    {
        let servers = it.servers.iter();
        facts.push(("mcp_servers", servers.map(|server| json!(server.name())).collect(), ""));
    }
    facts
}

fn tools(access: &Access) -> Value {
    match access {
        Access::Inherit => Value::Null,
        Access::AllowList { tools } if tools.is_empty() => json!("none"),
        Access::AllowList { tools } => json!(tools),
        Access::DenyList { tools } => json!({ "all but": tools }),
        Access::ReadOnly => json!("those that change nothing"),
    }
}

fn rules(rules: &Rules) -> [Fact; 4] {
    [
        ("permissions.allow", json!(rules.allow), ""),
        ("permissions.ask", json!(rules.ask), ""),
        ("permissions.deny", json!(rules.deny), ""),
        ("permissions.only", json!(rules.only), ""),
    ]
}

fn limits(it: &Definition) -> Vec<Fact> {
    let (allowance, manner) = (&it.allowance, &it.manner);
    let seconds = allowance.millis.map(|millis| millis.get() / 1000);
    let dollars = allowance.micros.map(|micros| micros.get() as f64 / 1e6);
    let retry = manner.retry.as_ref().map(|retry| {
        json!({
            "max_retries": retry.attempts.saturating_sub(1),
            "initial_delay_ms": retry.base.as_millis() as u64,
            "max_delay_ms": retry.cap.as_millis() as u64,
            "backoff": retry.backoff,
        })
    });
    vec![
        ("timeout", json!(seconds), ""),
        ("budget.max_tokens", json!(allowance.tokens), ""),
        ("budget.usd", json!(dollars), ""),
        ("budget.turns", json!(allowance.turns), ""),
        ("budget.calls", json!(allowance.calls), ""),
        ("params.temperature", json!(manner.temperature), ""),
        ("params.top_p", json!(manner.top_p), ""),
        ("params.max_tokens", json!(manner.max_output), ""),
        ("params.effort", json!(manner.effort), ""),
        ("retry", json!(retry), ""),
    ]
}

fn children(it: &Definition) -> Vec<Fact> {
    let callable = match &it.callable {
        Callable::Nobody => return vec![("sub_agents", Value::Null, "none")],
        Callable::Only(names) => json!(names),
        Callable::All => json!("all there are"),
    };
    vec![
        ("sub_agents", callable, ""),
        ("sub_agents_config.max_depth", json!(it.children.depth), ""),
        ("sub_agents_config.parallel", json!(it.manner.calls == Calls::Together), ""),
        ("sub_agents_config.timeout", json!(it.children.timeout), ""),
    ]
}

fn kept(it: &Definition) -> [Fact; 3] {
    let memory = it.memory.as_ref().map(|memory| {
        json!({
            "path": memory.path,
            "last_n": memory.last.map_or(0, std::num::NonZeroU64::get),
            "max_entries": memory.most,
            "store_input": memory.input == Input::Kept,
        })
    });
    let artifacts = it.artifacts.as_ref().map(|artifacts| json!({ "dir": artifacts.directory }));
    let variables = it.variables.iter().map(|(name, variable)| {
        let (description, default) = (&variable.description, &variable.default);
        (name.clone(), json!({ "description": description, "default": default }))
    });
    [
        ("memory", json!(memory), "none"),
        ("artifacts", json!(artifacts), "none"),
        ("variables", Value::Object(variables.collect()), ""),
    ]
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a value in few signs: lists with commas, tables as `name: value`.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| match value {
                Value::Object(_) => format!("{name} ({})", plain(value)),
                _ => format!("{name}: {}", plain(value)),
            });
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
