//! The command: reads its arguments, does one thing, says once what went wrong.

use std::{
    env,
    io::{self, Write},
    process,
};

use adjutant::{
    CliError, ExitCode, Surroundings, agents,
    arguments::{Arguments, Command, ConfigArguments, ConfigCommand, ModelsArguments, complaint},
    config::{Config, Written, show_json, show_places, show_text},
    memory,
    models::Selection,
    permissions,
    place::working_directory,
    presets,
    run::run,
    trust, undo,
};
use clap::{CommandFactory, Parser, error::ErrorKind};
use clap_complete::Shell;

fn main() -> process::ExitCode {
    match start() {
        Ok(code) => code,
        Err(error) => {
            let _ = error.report(&mut io::stderr());
            error.code().into()
        }
    }
}

fn start() -> Result<process::ExitCode, CliError> {
    let words: Vec<_> = env::args_os().collect();
    #[cfg(unix)]
    if let Some(kept) = adjutant::keeping::Kept::find(&words) {
        return Ok(kept.keep()?);
    }
    #[cfg(target_os = "linux")]
    if let Some(orders) = adjutant::confining::orders(&words) {
        match adjutant_tools::sandbox::confine(orders)? {}
    }
    match Arguments::try_parse_from(words) {
        Ok(arguments) => dispatch(arguments.command),
        Err(help) if is_help(help.kind()) => {
            help.print()?;
            Ok(process::ExitCode::from(u8::try_from(help.exit_code()).unwrap_or(1)))
        }
        Err(error) => Err(complaint(&error)),
    }
}

/// Help and the version, asked for or for want of anything that was.
fn is_help(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(kind, DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}

fn dispatch(command: Command) -> Result<process::ExitCode, CliError> {
    let code = match command {
        Command::Run(arguments) => run(arguments, &Surroundings::of_process()?)?,
        Command::Demo(arguments) => run(arguments.into(), &Surroundings::of_process()?)?,
        Command::Config(arguments) => config(&arguments, &Surroundings::of_process()?)?,
        Command::Models(arguments) => models(&arguments, &Surroundings::of_process()?)?,
        Command::Presets(arguments) => presets(&arguments, &mut io::stdout().lock())?,
        Command::Permissions(arguments) => {
            permissions(&arguments, &Surroundings::of_process()?, &mut io::stdout().lock())?
        }
        Command::Memory(command) => {
            memory(&command, &Surroundings::of_process()?, &mut io::stdout().lock())?
        }
        Command::Agents(arguments) => {
            agents(&arguments, &Surroundings::of_process()?, &mut io::stdout().lock())?
        }
        Command::Trust(arguments) => trust(&arguments, &Surroundings::of_process()?)?,
        Command::Undo(arguments) => {
            undo(&arguments, &Surroundings::of_process()?, &mut io::stdout().lock())?
        }
        Command::Completions { shell } => completions(shell)?,
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

fn models(arguments: &ModelsArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let ModelsArguments { provider, json, place } = arguments;
    let directory = working_directory(around, place.cwd.as_deref())?;
    let config = Config::load(around, &directory, &place.flags())?;
    let selection = Selection::look(&config, provider.as_deref())?;
    let write = if *json { Selection::write_json } else { Selection::write_text };
    write(&selection, &mut io::stdout().lock())?;
    Ok(ExitCode::Completed)
}

fn completions(shell: Shell) -> Result<ExitCode, CliError> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "adjutant", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::Completed)
}
