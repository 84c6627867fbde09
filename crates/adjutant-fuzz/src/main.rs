//! Runs the fuzzer: `cargo xtask fuzz`.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use adjutant_fuzz::{Finding, Limit, Run, TARGETS, Target, corpus, fuzz, once};
use anyhow::{Context as _, Result, bail};
use clap::Parser;

/// Mutates what comes from outside, and checks what has to hold.
#[derive(Parser)]
#[command(bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// What is fuzzed; without it, everything
    target: Option<String>,
    /// How long each target is fuzzed
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// Where chance begins; without it, anywhere
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Check this input and no other
    #[arg(long, value_name = "FILE", requires = "target", conflicts_with_all = ["seconds", "seed"])]
    input: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let Arguments { target, seconds, seed, input } = Arguments::parse();
    let targets = match &target {
        Some(name) => std::slice::from_ref(find(name)?),
        None => TARGETS,
    };
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    let mut out = io::stdout();
    for target in targets {
        let end = match &input {
            Some(path) => {
                let read = fs::read(path);
                once(target, &read.with_context(|| format!("cannot read {}", path.display()))?)
            }
            None => {
                let limit = Limit::Time(Duration::from_secs(seconds));
                fuzz(target, corpus::seeds(target)?, seed, limit)
            }
        };
        match end {
            Ok(Run { inputs, kinds }) => {
                writeln!(out, "{:<12}{inputs:>10} inputs{kinds:>8} kinds", target.name)?;
            }
            Err(finding) => {
                report(target, &finding, &mut out)?;
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<&'static Target> {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        return Ok(target);
    }
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    bail!("there is no target `{name}`; there are {}", names.join(", "))
}

fn report(target: &Target, finding: &Finding, out: &mut impl Write) -> Result<()> {
    let path = corpus::keep(target, finding)?;
    writeln!(out, "{}: {}", target.name, finding.fault)?;
    writeln!(out, "once more: cargo xtask fuzz {} --input {}", target.name, path.display())?;
    Ok(())
}
