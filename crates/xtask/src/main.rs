//! Set-up, checks and benchmarks, as `cargo xtask …`.

mod bench;
mod forest;
mod measure;
mod searches;
mod setup;
mod streams;

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

/// What a developer does besides building.
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Task {
    /// Install what the tests need and is missing: bubblewrap and ripgrep, on Debian
    Setup,
    /// Run every test of the workspace
    Test,
    /// Run what has to hold before a change lands: format, lints, tests
    Check,
    /// Measure the release build: cold start, a thousand children, the journal's price, a
    /// thousand streams, a tree of fifty thousand files
    Bench {
        /// What is measured; without it, everything
        part: Option<bench::Part>,
        /// How often each case is run
        #[arg(long, default_value_t = 10)]
        runs: usize,
    },
    /// Mutate what comes from outside and check what has to hold: [TARGET] [--seconds N]
    #[command(disable_help_flag = true)]
    Fuzz {
        /// What the fuzzer is told; `--help` tells what it can be told
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run a command and print its cost as JSON
    #[command(hide = true)]
    Measure {
        #[arg(trailing_var_arg = true)]
        command: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Setup => setup::run(),
        Task::Test => test(),
        Task::Check => check(),
        Task::Bench { part, runs } => bench::run(part, runs),
        Task::Fuzz { arguments } => fuzz(&arguments),
        Task::Measure { command } => measure::print(&command),
    }
}

fn test() -> Result<()> {
    setup::run()?;
    cargo(&["test", "--workspace"])
}

fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    test()
}

fn fuzz(arguments: &[String]) -> Result<()> {
    let run = ["run", "--quiet", "--package", "adjutant-fuzz", "--"];
    let arguments = arguments.iter().map(String::as_str);
    cargo(&run.into_iter().chain(arguments).collect::<Vec<_>>())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).status().context("cannot run cargo")?;
    ensure!(status.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(())
}
