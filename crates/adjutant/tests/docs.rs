//! What the documents show is what happens.
//!
//! A block after `<!-- test -->` is tried: a `toml` block is the file its first line names,
//! and of a `console` block each `$` line is run and has to write what stands below it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::BTreeSet,
    env, fs, iter,
    path::Path,
    process::{Command, Stdio},
};

use adjutant::ExitCode;
use serde_json::{Map, Value};
use tempfile::TempDir;

const README: &str = include_str!("../../../README.md");
const MODELS: &str = include_str!("../../../docs/models.md");
const PERMISSIONS: &str = include_str!("../../../docs/permissions.md");
const TOOLS: &str = include_str!("../../../docs/tools.md");
const CASSETTES: &str = include_str!("../../../docs/cassettes.md");
const SCRIPTS: &str = include_str!("../../../docs/scripts.md");
const DELEGATION: &str = include_str!("../../../docs/delegation.md");
const AGENTS: &str = include_str!("../../../docs/agents.md");
const MARK: &str = "<!-- test -->\n```";

#[test]
fn every_example_does_what_it_shows() {
    for document in [README, MODELS, SCRIPTS, CASSETTES, PERMISSIONS, TOOLS, DELEGATION, AGENTS] {
        let home = TempDir::new().unwrap();
        let tried: usize = blocks(document).map(|block| attempt(home.path(), &block)).sum();
        assert_ne!(tried, 0);
    }
}

#[test]
fn every_key_in_the_readme_exists() {
    let home = TempDir::new().unwrap();
    let config = blocks(README).find(|block| block.body.starts_with("# ~/")).unwrap();
    attempt(home.path(), &config);
    let known = shell(home.path(), "adjutant config --json");
    let known: Map<String, Value> = serde_json::from_str(&known).unwrap();
    let is_key = |word: &&str| {
        let section = word.find('.').map(|dot| &word[..=dot]).filter(|_| !word.ends_with(".md"));
        section.is_some_and(|section| known.keys().any(|key| key.starts_with(section)))
    };
    let is_between = |c: char| !c.is_ascii_lowercase() && c != '_' && c != '.';
    let words = README.split(is_between).map(|word| word.trim_matches('.'));
    let named: BTreeSet<_> = words.filter(is_key).collect();
    assert!(named.len() > 5, "{named:?}");
    for key in named {
        assert!(known.contains_key(key), "{key}");
    }
}

#[test]
fn the_readme_has_every_exit_code_and_no_other() {
    let table = README.split_once("| code | means |\n|---|---|\n").unwrap().1;
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let shown: Vec<u8> =
        rows.map(|row| row.split('|').nth(1).unwrap().trim().parse().unwrap()).collect();
    assert_eq!(shown, codes());
}

/// Returns all exit codes. A new one must find its place here.
fn codes() -> Vec<u8> {
    let next = |code: &ExitCode| match code {
        ExitCode::Completed => Some(ExitCode::Failed),
        ExitCode::Failed => Some(ExitCode::Usage),
        ExitCode::Usage => Some(ExitCode::Provider),
        ExitCode::Provider => Some(ExitCode::Budget),
        ExitCode::Budget => Some(ExitCode::Unattended),
        ExitCode::Unattended => Some(ExitCode::Timeout),
        ExitCode::Timeout => Some(ExitCode::Cancelled),
        ExitCode::Cancelled => None,
    };
    iter::successors(Some(ExitCode::Completed), next).map(|code| code as u8).collect()
}

/// A block that is to be tried.
struct Block {
    language: &'static str,
    body: &'static str,
}

fn blocks(document: &'static str) -> impl Iterator<Item = Block> {
    document.split(MARK).skip(1).map(|rest| {
        let (block, _) = rest.split_once("\n```").unwrap();
        let (language, body) = block.split_once('\n').unwrap();
        Block { language, body }
    })
}

/// Tries a block and returns how many commands it had.
fn attempt(home: &Path, block: &Block) -> usize {
    let body = block.body;
    if block.language == "toml" {
        let name = body.lines().next().unwrap().trim_start_matches("# ").trim_start_matches("~/");
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, body).unwrap();
        return 0;
    }
    assert_eq!(block.language, "console");
    let commands = body.strip_prefix("$ ").unwrap().split("\n$ ");
    commands
        .map(|command| {
            let (line, shown) = command.split_once('\n').unwrap();
            let written = shell(home, line).replace(&home.display().to_string(), "~");
            assert_eq!(written.trim_end(), shown, "{line}");
        })
        .count()
}

/// Runs a line in a shell that has nothing but us and the usual programs.
fn shell(home: &Path, line: &str) -> String {
    let ours = Path::new(env!("CARGO_BIN_EXE_adjutant")).parent().unwrap();
    let path = format!("{}:{}", ours.display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env_clear().env("HOME", home).env("PATH", path);
    let output = shell.current_dir(home).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}
