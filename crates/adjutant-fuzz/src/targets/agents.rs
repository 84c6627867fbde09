//! The file of an agent, in every format there is.

use adjutant::fuzz::{Loaded, agent};

use super::hash;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "agents",
    words: &[
        "---\n",
        "name: ",
        "description: ",
        "tools: ",
        "  - ",
        "disallowedTools: ",
        "permissionMode: plan\n",
        "mcpServers:\n  - a: {command: b}\n",
        "skills: ",
        "Read, Bash(git *)",
        "Bash(a:*)",
        "Read(//a/**)",
        "Edit(~/[)",
        "WebFetch(domain:a.b:1)",
        "Agent(a, b)",
        "mcp__a",
        "permission:\n",
        "  bash:\n",
        "    '*': deny\n",
        "    'git *': allow\n",
        "  task: ",
        "  external_directory: deny\n",
        "tools:\n  '*': false\n",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "|\n",
        "[",
        "{",
        "}",
        ": ",
        "\t",
        "name = ",
        "tools = [",
        "[[mcp_servers]]\n",
        "[sub_agents_config]\n",
        "sub_agents = ['a']\n",
        "system_prompt = \"\"\"",
        "developer_instructions = 'x'\n",
        "sandbox_mode = 'read-only'\n",
        "\u{feff}",
        "\r\n",
    ],
    check,
};

/// A file is an agent or refused with an error, the same each time, and all that is said of it is
/// in a line of it.
fn check(input: &[u8]) -> u64 {
    let lines = 1 + input.iter().filter(|byte| **byte == b'\n').count();
    let kinds: Vec<_> = (0..4).map(|format| check_format(format, input, lines)).collect();
    let twice = hash(input) as usize % 4;
    assert_eq!(agent(twice, input), agent(twice, input), "it is read in two ways");
    hash(kinds)
}

fn check_format(format: usize, input: &[u8], lines: usize) -> Option<(bool, Vec<String>)> {
    let Loaded { definition, problems, has_error } = agent(format, input)?;
    assert_ne!(definition.is_some(), has_error, "{problems:?}");
    for (severity, line, message) in &problems {
        assert!(!message.trim().is_empty(), "{severity} says nothing");
        assert!(line.is_none_or(|line| (1..=lines).contains(&line)), "{line:?}: {message}");
    }
    // What is said, but for what of the file is in it.
    let said = problems.iter().take(6).map(|(severity, _, message)| {
        let (field, rest) = message.split_once("` ").unwrap_or(("", message));
        let rest: String = rest.chars().take(12).collect();
        format!("{severity}{}{rest}", field.chars().take(8).collect::<String>())
    });
    Some((definition.is_some(), said.collect()))
}
