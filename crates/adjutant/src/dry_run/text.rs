//! The report of a dry run, for people.

use std::io::{self, IsTerminal as _, Write};

use adjutant_core::{Allowance, Isolation, Manner, Rules};
use adjutant_surfaces::sanitize::visible;

use super::report::{Agent, Called, Report, Tool};

/// Writes a report. What would be sent is written as it is, unless a terminal would obey it.
pub(super) fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let Report { root, task, servers, warnings } = report;
    for (name, value) in facts(root) {
        writeln!(to, "{name:10}{value}")?;
    }
    if !servers.is_empty() {
        writeln!(to, "{:10}{}", "servers", visible(&servers.join(", ")))?;
    }
    for warning in warnings {
        writeln!(to, "{:10}{}", "warning", visible(warning))?;
    }
    writeln!(to, "\n----- {} tools", root.tools.len())?;
    for Tool { name, description, .. } in &root.tools {
        writeln!(to, "{}\n    {}", visible(name), shown(description).replace('\n', "\n    "))?;
    }
    passage(to, "system prompt", &root.system)?;
    passage(to, "task", task)?;
    writeln!(to, "\n----- may call {}", count(root.calls.len(), "agent"))?;
    called(to, &root.calls, 0)?;
    prompts(to, &root.calls, "")
}

/// Writes what the agents are told first that may be called.
fn prompts(to: &mut dyn Write, calls: &[Called], above: &str) -> io::Result<()> {
    let agents = calls.iter().filter_map(|called| match called {
        Called::Agent(agent) => Some(agent),
        Called::Unseen { .. } => None,
    });
    for agent in agents {
        let name = format!("{above}{}", visible(agent.agent.as_deref().unwrap_or_default()));
        passage(to, &format!("system prompt of {name}"), &agent.system)?;
        prompts(to, &agent.calls, &format!("{name} > "))?;
    }
    Ok(())
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
                writeln!(to, "{space}{}: {}", visible(agent), visible(why))?;
            }
            Called::Agent(agent) => {
                let name = agent.agent.as_deref().unwrap_or_default();
                writeln!(to, "{space}{}", visible(name))?;
                for (name, value) in facts(agent).into_iter().skip(1) {
                    writeln!(to, "{space}  {name:10}{value}")?;
                }
                let tools: Vec<_> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
                let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
                writeln!(to, "{space}  {:10}{}", "tools", visible(&tools))?;
                for clamp in &agent.clamped {
                    writeln!(to, "{space}  {:10}{}", "cut", visible(&clamp.to_string()))?;
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
    for (rules, whose) in [(&agent.rules, ""), (&agent.rules_above, " (of its callers)")] {
        let Rules { allow, ask, deny, only } = rules;
        for (list, rules) in [("allow", allow), ("ask", ask), ("deny", deny), ("only", only)] {
            facts.extend(rules.iter().map(|rule| (list, format!("{rule}{whose}"))));
        }
    }
    facts.into_iter().map(|(name, value)| (name, visible(&value))).collect()
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

/// Writes out what a terminal would obey, if it is one that shows a text.
fn shown(text: &str) -> String {
    if io::stdout().is_terminal() { visible(text) } else { text.to_owned() }
}
