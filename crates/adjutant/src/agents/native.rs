//! Our own format: TOML with a field for everything an agent can be.

use std::{num::NonZeroU64, time::Duration};

use adjutant_core::{Access, Allowance, Backoff, Calls, Effort, Manner, Mode, Retry, Rules};

use super::{
    definition::{Artifacts, Callable, Children, Definition, Input, Memory, Origin, Variable},
    fields::Fields,
    format::Format,
    problem::{Problem, Severity},
    text::Written,
};

/// The deepest a tree may go below an agent.
const DEEPEST: u64 = 5;

/// How many records there are before a person is told to clean up.
const MOST_RECORDS: NonZeroU64 = NonZeroU64::new(100).unwrap();

/// How many of the last records an agent is told.
const LAST_RECORDS: u64 = 10;

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    let mut fields = match Fields::of_toml(written) {
        Ok(fields) => fields,
        Err(problem) => return (None, vec![problem]),
    };
    let definition = definition(&mut fields, written);
    let problems = fields.end(Severity::Error);
    let is_refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    ((!is_refused).then_some(definition), problems)
}

fn definition(fields: &mut Fields<'_>, written: &Written) -> Definition {
    let name = fields.text("name").unwrap_or_else(|| written.name.clone());
    let mut definition = Definition {
        name,
        description: fields.text("description").unwrap_or_default(),
        prompt: fields.text("system_prompt").unwrap_or_default(),
        model: fields.text("model"),
        skills: fields.text("skill").into_iter().collect(),
        files: fields.list("files").unwrap_or_default(),
        workdir: fields.text("workdir").map(Into::into),
        mode: mode(fields),
        ..Definition::default()
    };
    if let Some(tools) = fields.list("tools") {
        definition.access = Access::AllowList { tools: tools.into_iter().collect() };
    }
    definition.rules = rules(fields);
    definition.allowance = allowance(fields);
    definition.manner = manner(fields);
    children(fields, &mut definition);
    definition.memory = memory(fields);
    definition.artifacts = artifacts(fields);
    definition.variables = Default::default();
    definition.origin = Origin {
        file: written.file.clone(),
        format: Format::Native,
        owner: written.owner.clone(),
        lines: fields.lines().clone(),
    };
    definition
}

fn mode(fields: &mut Fields<'_>) -> Option<Mode> {
    let name = fields.text("mode")?;
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
    if mode.is_none() {
        let names = Mode::ALL.map(|mode| format!("`{}`", mode.name())).join(", ");
        fields.wrong("mode", format!("is `{name}`; there are: {names}"));
    }
    mode
}

fn rules(fields: &mut Fields<'_>) -> Rules {
    let mut rules = Rules::default();
    let Some(mut table) = fields.table("permissions") else { return rules };
    let lists = [("allow", &mut rules.allow), ("ask", &mut rules.ask), ("deny", &mut rules.deny)];
    for (name, list) in lists {
        for rule in table.list(name).unwrap_or_default() {
            match rule.parse() {
                Ok(pattern) => list.push(pattern),
                Err(error) => table.wrong(name, error),
            }
        }
    }
    fields.end_table(table);
    rules
}

fn allowance(fields: &mut Fields<'_>) -> Allowance {
    let mut allowance = Allowance::default();
    if let Some(seconds) = fields.count("timeout") {
        allowance.millis = Some(seconds.saturating_mul(const { NonZeroU64::new(1000).unwrap() }));
    }
    let Some(mut table) = fields.table("budget") else { return allowance };
    allowance.tokens = table.count("max_tokens");
    allowance.turns = table.count("turns");
    allowance.calls = table.count("calls");
    fields.end_table(table);
    allowance
}

fn manner(fields: &mut Fields<'_>) -> Manner {
    let mut manner = Manner::default();
    if let Some(mut table) = fields.table("params") {
        manner.temperature = table.number("temperature");
        manner.top_p = table.number("top_p");
        manner.max_output = table.count("max_tokens");
        manner.effort = effort(&mut table);
        fields.end_table(table);
    }
    if let Some(mut table) = fields.table("retry") {
        manner.retry = Some(retry(&mut table));
        fields.end_table(table);
    }
    manner
}

fn effort(fields: &mut Fields<'_>) -> Option<Effort> {
    let name = fields.text("effort")?;
    let found = Effort::ALL.into_iter().find(|(known, _)| *known == name);
    if found.is_none() {
        fields.wrong("effort", "has to be `low`, `medium` or `high`");
    }
    found.map(|(_, effort)| effort)
}

fn retry(fields: &mut Fields<'_>) -> Retry {
    let usual = Retry::default();
    let millis = |count: Option<NonZeroU64>, usual: Duration| {
        count.map_or(usual, |count| Duration::from_millis(count.get()))
    };
    let retries = fields.whole("max_retries");
    let attempts = retries.map(|retries| u32::try_from(retries).unwrap_or(u32::MAX));
    let backoff = match fields.text("backoff").as_deref() {
        None | Some("exponential") => Backoff::Exponential,
        Some("linear") => Backoff::Linear,
        Some("fixed") => Backoff::Fixed,
        Some(other) => {
            let why = format!("is `{other}`; there are: `exponential`, `linear`, `fixed`");
            fields.wrong("backoff", why);
            Backoff::Exponential
        }
    };
    Retry {
        attempts: attempts.map_or(usual.attempts, |retries| retries.saturating_add(1)),
        base: millis(fields.count("initial_delay_ms"), usual.base),
        cap: millis(fields.count("max_delay_ms"), usual.cap),
        backoff,
    }
}

fn children(fields: &mut Fields<'_>, definition: &mut Definition) {
    definition.callable = match fields.list("sub_agents") {
        Some(names) if !names.is_empty() => Callable::Only(names),
        Some(_) | None => Callable::Nobody,
    };
    let Some(mut table) = fields.table("sub_agents_config") else { return };
    let depth = table.whole("max_depth");
    if depth.is_some_and(|depth| depth > DEEPEST) {
        table.wrong("max_depth", format!("cannot exceed {DEEPEST}"));
    }
    definition.children = Children {
        depth: depth.and_then(|depth| u8::try_from(depth).ok()),
        timeout: table.count("timeout"),
    };
    definition.manner.calls = match table.flag("parallel") {
        Some(false) => Calls::OneByOne,
        Some(true) | None => Calls::Together,
    };
    fields.end_table(table);
}

fn memory(fields: &mut Fields<'_>) -> Option<Memory> {
    let mut table = fields.table("memory")?;
    let is_enabled = table.flag("enabled").unwrap_or_default();
    let memory = Memory {
        path: table.text("path").map(Into::into),
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
    let mut table = fields.table("artifacts")?;
    let is_enabled = table.flag("enabled").unwrap_or_default();
    let artifacts = Artifacts { directory: table.text("dir").map(Into::into) };
    fields.end_table(table);
    is_enabled.then_some(artifacts)
}

#[expect(dead_code, reason = "for the table of variables")]
fn variable(default: String) -> Variable {
    Variable { description: None, default: Some(default) }
}
