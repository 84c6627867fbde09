//! What a command costs, its children included.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::{
    resource::{Usage, UsageWho, getrusage},
    time::TimeValLike as _,
};
use serde::{Deserialize, Serialize};

/// The cost of one run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Processor time, in microseconds.
    pub(crate) cpu: i64,
    /// The most memory, in KiB.
    pub(crate) memory: i64,
    /// Time on the wall, in microseconds.
    pub(crate) wall: i64,
}

/// Runs a command in a process of its own, so that the numbers are this run's alone.
pub(crate) fn run(command: &[String]) -> Result<Cost> {
    let xtask = std::env::current_exe()?;
    let output = Command::new(xtask).arg("measure").arg("--").args(command).output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("the measure is not JSON")
}

/// Runs a command and prints its cost.
#[expect(clippy::print_stdout, reason = "the parent reads it there")]
pub(crate) fn print(command: &[String]) -> Result<()> {
    let (program, arguments) = command.split_first().context("no command was given")?;
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("cannot run {program}"))?;
    let wall = i64::try_from(start.elapsed().as_micros())?;
    ensure!(status.success(), "{program} ended with {status}");
    let usage: Usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{}", serde_json::to_string(&Cost { cpu, memory: usage.max_rss(), wall })?);
    Ok(())
}
