//! The command: reads its arguments, does one thing, says once what went wrong.

use std::{
    io::{self, Write},
    process,
};

use adjutant::{
    CliError, ExitCode, Surroundings,
    arguments::{Arguments, Command, ConfigArguments, ConfigCommand},
    config::{Config, Written, show_json, show_places, show_text},
    place::working_directory,
    run::run,
};
use clap::{CommandFactory, Parser};
use clap_complete::Shell;

fn main() -> process::ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // Clap has nobody left to tell when its own words cannot be written.
        Err(words) => {
            let _ = words.print();
            return process::ExitCode::from(u8::try_from(words.exit_code()).unwrap_or(1));
        }
    };
    match dispatch(arguments.command) {
        Ok(code) => code,
        Err(error) => {
            let _ = error.report(&mut io::stderr());
            error.code().into()
        }
    }
}

fn dispatch(command: Command) -> Result<process::ExitCode, CliError> {
    let code = match command {
        Command::Run(arguments) => run(arguments, &Surroundings::of_process()?)?,
        Command::Demo(arguments) => run(arguments.into(), &Surroundings::of_process()?)?,
        Command::Config(arguments) => config(&arguments, &Surroundings::of_process()?)?,
        Command::Completions { shell } => completions(shell)?,
        // The code is that of the kept command, which may be any.
        #[cfg(unix)]
        Command::Keep { command } => return Ok(adjutant_tools::keeper::keep(&command)?),
    };
    Ok(code.into())
}

fn config(arguments: &ConfigArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let mut stdout = io::stdout().lock();
    if let Some(ConfigCommand::Path { cwd }) = &arguments.command {
        show_places(around, &working_directory(around, cwd.as_deref())?, &mut stdout)?;
        return Ok(ExitCode::Completed);
    }
    let directory = working_directory(around, arguments.place.cwd.as_deref())?;
    let written = Written::read(around, &directory, &arguments.place.flags())?;
    Config::check(&written, around)?;
    let show = if arguments.json { show_json } else { show_text };
    show(&written, &mut stdout)?;
    Ok(ExitCode::Completed)
}

fn completions(shell: Shell) -> Result<ExitCode, CliError> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "adjutant", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::Completed)
}
