//! What the tests need besides a toolchain.

use std::{env, process::Command};

use anyhow::{Context as _, Result, ensure};

/// Programs, and the Debian packages they are in.
const NEEDED: [(&str, &str); 2] = [("bwrap", "bubblewrap"), ("rg", "ripgrep")];

/// Installs what is missing and says so. Where all is there it does nothing.
#[expect(clippy::print_stdout, reason = "who runs it should know")]
pub(crate) fn run() -> Result<()> {
    let missing =
        NEEDED.iter().filter(|(program, _)| cfg!(target_os = "linux") && !is_there(program));
    let missing: Vec<_> = missing.map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    println!("installing {packages}, which the tests need");
    let install = [&["install", "--yes", "--no-install-recommends"], &missing[..]].concat();
    apt_get(&["update", "--quiet"])
        .and_then(|()| apt_get(&install))
        .with_context(|| format!("install {packages} with your package manager and try again"))
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Runs `apt-get`, as root or with `sudo` where that asks for no password.
fn apt_get(arguments: &[&str]) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    let before: &[_] = if is_root { &[] } else { &["sudo", "--non-interactive"] };
    let command =
        [before, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], arguments].concat();
    let status = Command::new(command[0]).args(&command[1..]).status();
    let status = status.with_context(|| format!("cannot run {}", command[0]))?;
    ensure!(status.success(), "`{}` failed", command.join(" "));
    Ok(())
}
