//! The report of a dry run, for people.

use std::io::{self, IsTerminal as _, Write};

use adjutant_core::{Allowance, Isolation, Manner, Rules};
use adjutant_surfaces::sanitize::clean;

use super::report::{Agent, Called, Report, Tool};

/// Writes a report. What would be sent is written as it is, but for what a terminal would obey.
pub(super) fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let Report { root, system, task, servers, warnings } = report;
    for (name, value) in facts(root) {
        writeln!(to, "{name:10}{value}")?;
    }
    if !servers.is_empty() {
        writeln!(to, "{:10}{}", "servers", servers.join(", "))?;
    }
    for warning in warnings {
        writeln!(to, "{:10}{}", "warning", shown(warning))?;
    }
    writeln!(to, "\n----- {} tools", root.tools.len())?;
    let width = root.tools.iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    for Tool { name, description } in &root.tools {
        writeln!(to, "{name:width$}  {}", shown(description))?;
    }
    passage(to, "system prompt", system)?;
    passage(to, "task", task)?;
    writeln!(to, "\n----- may call {}", count(root.calls.len(), "agent"))?;
    called(to, &root.calls, 0)
}

fn passage(to: &mut dyn Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(to, "\n----- {name}, {}", count(text.len(), "byte"))?;
    writeln!(to, "{}", shown(text))
}

fn called(to: &mut dyn Write, calls: &[Called], indent: usize) -> io::Result<()> {
    let space = " ".repeat(indent);
    for called in calls {
        match called {
            Called::Unseen { agent, why } => {
                writeln!(to, "{space}{}: {}", shown(agent), shown(why))?;
            }
            Called::Agent(agent) => {
                let name = agent.agent.as_deref().unwrap_or_default();
                writeln!(to, "{space}{}", shown(name))?;
                for (name, value) in facts(agent).into_iter().skip(1) {
                    writeln!(to, "{space}  {name:10}{value}")?;
                }
                let tools: Vec<_> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
                let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
                writeln!(to, "{space}  {:10}{}", "tools", shown(&tools))?;
                for clamp in &agent.clamped {
                    writeln!(to, "{space}  {:10}{}", "cut", shown(&clamp.to_string()))?;
                }
                self::called(to, &agent.calls, indent + 4)?;
            }
        }
    }
    Ok(())
}

/// Returns what there is to say of an agent in a line each.
fn facts(agent: &Agent) -> Vec<(&'static str, String)> {
    let file = agent.file.as_ref().map(|file| format!(" ({})", file.display()));
    let name = agent.agent.as_deref().unwrap_or("none: the plain root");
    let mut facts = vec![
        ("agent", format!("{name}{}", file.unwrap_or_default())),
        ("model", agent.model.clone()),
        ("workdir", agent.workdir.clone().unwrap_or_default()),
        ("mode", agent.mode.to_string()),
    ];
    let scope: Vec<_> = agent.scope.iter().map(|path| path.display().to_string()).collect();
    facts.push(("scope", scope.join(", ")));
    if agent.isolation == Isolation::Worktree {
        facts.push(("isolation", "a git worktree of its own".to_owned()));
    }
    facts.push(("depth", agent.depth.to_string()));
    facts.push(("budget", budget(&agent.budget)));
    facts.push(("params", params(&agent.params, agent.max_tokens)));
    facts.push(("prompt", count(agent.prompt_bytes, "byte")));
    let schema = agent.output_schema.as_ref().map(|schema| ("schema", schema.to_string()));
    let memory = agent.memory.as_ref().map(|it| ("memory", it.display().to_string()));
    let artifacts = agent.artifacts.clone().map(|artifacts| ("artifacts", artifacts));
    facts.extend(schema.into_iter().chain(memory).chain(artifacts));
    let Rules { allow, ask, deny, only } = &agent.rules;
    for (list, rules) in [("allow", allow), ("ask", ask), ("deny", deny), ("only", only)] {
        facts.extend(rules.iter().map(|rule| (list, rule.to_string())));
    }
    facts.into_iter().map(|(name, value)| (name, shown(&value))).collect()
}

fn budget(Allowance { tokens, micros, millis, turns, calls }: &Allowance) -> String {
    let dollars = micros.map(|micros| format!("{} USD", micros.get() as f64 / 1e6));
    let seconds = millis.map(|millis| format!("{} s", millis.get() as f64 / 1e3));
    let counts = [(tokens, "tokens"), (turns, "turns"), (calls, "tool calls")];
    let counts = counts.into_iter().filter_map(|(count, of)| Some(format!("{} {of}", (*count)?)));
    let all: Vec<_> = counts.chain(dollars).chain(seconds).collect();
    if all.is_empty() { "not limited".to_owned() } else { all.join(", ") }
}

fn params(manner: &Manner, max_tokens: u64) -> String {
    let temperature = manner.temperature.as_ref().map(|it| format!("temperature {it}"));
    let top_p = manner.top_p.as_ref().map(|it| format!("top_p {it}"));
    let effort = manner.effort.map(|it| format!("effort {}", it.name()));
    let retry = manner.retry.map(|it| format!("{} tries", it.attempts));
    let all = temperature.into_iter().chain(top_p).chain(effort).chain(retry);
    all.chain([format!("max_tokens {max_tokens}")]).collect::<Vec<_>>().join(", ")
}

fn count(count: usize, of: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {of}{end}")
}

/// Takes from a text what a terminal would obey, if it is one that shows it.
fn shown(text: &str) -> String {
    if io::stdout().is_terminal() { clean(text) } else { text.to_owned() }
}
