//! The smallest keeper: runs the command it is given, or, after `__confine`, confines itself
//! and becomes it. Stands in for a program that has both among its own commands.

use std::{io, process::ExitCode};

use adjutant_tools::keeper::keep;
#[cfg(target_os = "linux")]
use adjutant_tools::sandbox::confine;

fn main() -> io::Result<ExitCode> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        #[cfg(target_os = "linux")]
        Some((first, orders)) if first == "__confine" => match confine(orders)? {},
        _ => keep(&words),
    }
}
