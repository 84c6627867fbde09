//! The smallest keeper: runs the command it is given. Stands in for a program that has
//! keeping among its own commands.

use std::{io, process::ExitCode};

fn main() -> io::Result<ExitCode> {
    let command: Vec<_> = std::env::args_os().skip(1).collect();
    adjutant_tools::keeper::keep(&command)
}
