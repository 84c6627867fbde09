//! What Adjutant costs with a model that costs nothing.

use std::{fs, path::Path};

use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cargo,
    measure::{self, Cost},
    searches, streams,
};

/// How many children there are where there are many.
pub(crate) const CHILDREN: usize = 1000;
/// How many there are where there are few.
const FEW: usize = 10;
/// What the root is told.
pub(crate) const TASK: &str = "go";

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Starting, and a thousand children
    Agents,
    /// A thousand answers at once
    Streams,
    /// Searching and reading fifty thousand files, against `rg`
    Searches,
}

/// Builds the release binary and measures a part of it, or all.
pub(crate) fn run(part: Option<Part>, runs: usize) -> Result<()> {
    cargo(&["build", "--release", "--package", "adjutant"])?;
    let is_wanted = |it: &Part| part.is_none_or(|part| part == *it);
    for part in Part::value_variants().iter().filter(|it| is_wanted(it)) {
        match part {
            Part::Agents => agents(runs)?,
            Part::Streams => streams::run()?,
            Part::Searches => searches::run(runs)?,
        }
    }
    Ok(())
}

/// Measures starting, and a thousand children.
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
fn agents(runs: usize) -> Result<()> {
    let place = TempDir::new()?;
    let one = script(place.path(), "one", &one_turn())?;
    let few = script(place.path(), "few", &fan_out(FEW, "sub_agent"))?;
    let many = script(place.path(), "many", &fan_out(CHILDREN, "sub_agent"))?;
    let behind = script(place.path(), "behind", &fan_out(CHILDREN, "agent_spawn"))?;
    println!("{:<36}{:>10}{:>12}{:>10}", "", "CPU ms", "memory MiB", "wall ms");
    let binary = ["target/release/adjutant".to_owned()];
    row("--version", runs, &[&binary[..], &["--version".to_owned()]].concat())?;
    let memory = ["journal=memory".to_owned()];
    let file = [format!("journal_path={}", place.path().join("journal.db").display())];
    let turn = row("one turn, in memory", runs, &command(&one, &memory))?;
    row("one turn, journalled", runs, &command(&one, &file))?;
    let runs = runs.div_ceil(3);
    let fan_of_few = row("10 children, in memory", runs, &command(&few, &memory))?;
    let fan = row("1000 children, in memory", runs, &command(&many, &memory))?;
    let kept = row("1000 children, journalled", runs, &command(&many, &file))?;
    let pushed = row("1000 in the background, in memory", runs, &command(&behind, &memory))?;
    println!("\n{:<36}{:>10}{:>12}", "a child", "CPU ms", "memory KiB");
    each("the first ten", (&turn, 0), (&fan_of_few, FEW));
    each("the tenth to the thousandth", (&fan_of_few, FEW), (&fan, CHILDREN));
    each("of a thousand, journalled", (&turn, 0), (&kept, CHILDREN));
    each("of a thousand in the background", (&turn, 0), (&pushed, CHILDREN));
    Ok(())
}

/// Prints what each child costs by which one run has more than another.
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
fn each(name: &str, (less, few): (&Cost, usize), (more, many): (&Cost, usize)) {
    let children = (many - few) as f64;
    let cpu = (more.cpu - less.cpu) as f64 / 1e3 / children;
    let memory = (more.memory - less.memory) as f64 / children;
    println!("{name:<36}{cpu:>10.3}{memory:>12.1}");
}

fn one_turn() -> Value {
    json!({ "reply": [{ "text": "done" }] })
}

/// One message with many delegations; each child reads a file and answers.
fn fan_out(children: usize, tool: &str) -> Value {
    let call = |number| json!({ "tool": tool, "args": { "prompt": format!("part {number}") } });
    let calls: Vec<_> = (0..children).map(call).collect();
    let read = json!([{ "tool": "read_file", "args": { "path": "Cargo.toml", "limit": 5 } }]);
    json!({ "reply": [
        { "agent": "root", "turn": 1, "calls": calls },
        { "agent": "root", "text": "all are in", "times": "any" },
        { "agent": "root.*", "turn": 1, "calls": read },
        { "agent": "root.*", "turn": 2, "text": "done" },
    ] })
}

/// Writes a script and returns the model that says it.
pub(crate) fn script(place: &Path, name: &str, script: &Value) -> Result<String> {
    let path = place.join(name).with_extension("json");
    fs::write(&path, script.to_string())?;
    Ok(format!("scripted/{}", path.display()))
}

/// Returns a run on a model, with limits that are in nobody's way.
pub(crate) fn command(model: &str, settings: &[String]) -> Vec<String> {
    let limits = ["concurrent_agents", "children_per_agent", "concurrent_ops", "model_calls"];
    let limits = limits.map(|limit| format!("limits.max_{limit}={}", 2 * CHILDREN));
    let settings = limits.iter().chain(settings).flat_map(|it| ["-c", it]);
    let run = ["target/release/adjutant", "run", "--quiet", "--mode", "auto", "--model", model];
    run.into_iter().chain(settings).chain([TASK]).map(str::to_owned).collect()
}

/// Prints the median of several runs.
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
fn row(name: &str, runs: usize, command: &[String]) -> Result<Cost> {
    let cost = median(runs, command)?;
    let (cpu, memory, wall) =
        (cost.cpu as f64 / 1e3, cost.memory as f64 / 1024.0, cost.wall as f64 / 1e3);
    println!("{name:<36}{cpu:>10.1}{memory:>12.1}{wall:>10.1}");
    Ok(cost)
}

/// Returns the median of several runs, after one that is not counted.
pub(crate) fn median(runs: usize, command: &[String]) -> Result<Cost> {
    measure::run(command)?;
    let costs = (0..runs).map(|_| measure::run(command)).collect::<Result<Vec<_>>>()?;
    let median = |of: fn(&Cost) -> i64| {
        let mut values: Vec<_> = costs.iter().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    Ok(Cost {
        cpu: median(|cost| cost.cpu),
        memory: median(|cost| cost.memory),
        wall: median(|cost| cost.wall),
    })
}
