//! `adjutant agents`: which agents there are, what they are, and what is wrong with their files.

mod check;
mod list;
mod new;
mod show;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    Agents,
    definition::Owner,
    order::{is_file, named_directories},
    problem::Problem,
};
use crate::{
    CliError, ExitCode, Surroundings,
    arguments::{AgentsArguments, AgentsCommand, AgentsPlace},
    assembly::Kit,
    config::Config,
    place::working_directory,
};

/// Lists agents, shows one, makes one or checks them.
pub fn agents(
    arguments: &AgentsArguments,
    around: &Surroundings,
    to: &mut dyn Write,
) -> Result<ExitCode, CliError> {
    match &arguments.command {
        AgentsCommand::List { json, place } => {
            let desk = Desk::new(place, around, &[])?;
            if *json { list::write_json(&desk, to)? } else { list::write_text(&desk, to)? }
        }
        AgentsCommand::Show { name, json, place } => {
            let desk = Desk::new(place, around, std::slice::from_ref(name))?;
            show::show(&desk, name, *json, to)?;
        }
        AgentsCommand::New { name, user, description, cwd } => {
            let directory = working_directory(around, cwd.as_deref())?;
            let new = new::New { name, description: description.as_deref() };
            new.write(around, &directory, *user, to)?;
        }
        AgentsCommand::Check { names, json, place } => {
            let desk = Desk::new(place, around, names)?;
            return check::check(&desk, names, *json, to);
        }
    }
    Ok(ExitCode::Completed)
}

/// The agents a command is about, and what is around them.
struct Desk<'a> {
    agents: Arc<Agents>,
    config: Config,
    around: &'a Surroundings,
}

impl<'a> Desk<'a> {
    /// Reads all agents there are, and those beside the files that are named.
    fn new(
        place: &AgentsPlace,
        around: &'a Surroundings,
        named: &[String],
    ) -> Result<Self, CliError> {
        let directory = working_directory(around, place.place.cwd.as_deref())?;
        let config = Config::load(around, &directory, &place.place.flags())?;
        let beside = named.iter().filter(|name| is_file(name));
        let beside: Vec<_> = beside.filter_map(|file| Path::new(file).parent()).collect();
        let named = named_directories(around, &beside, place.agents_dir.as_deref())?;
        let mut agents = Agents::read(around, &directory, &named)?;
        agents.library.forget_models(&config.providers);
        agents.forget_tools(&config, &Kit::default());
        Ok(Self { agents: Arc::new(agents), config, around })
    }

    /// Returns a path as people write it: from where they are, or from their home.
    fn short(&self, path: &Path) -> String {
        let home = self.around.home.as_deref();
        let shorter = match path.strip_prefix(&self.agents.directory) {
            Ok(below) => below.to_owned(),
            Err(_) => match home.and_then(|home| path.strip_prefix(home).ok()) {
                Some(below) => PathBuf::from("~").join(below),
                None => path.to_owned(),
            },
        };
        adjutant_surfaces::sanitize::visible(&shorter.display().to_string())
    }
}

/// Returns whose file it is, in a word.
fn owner(owner: &Owner) -> &'static str {
    match owner {
        Owner::User => "user",
        Owner::Project(_) => "project",
    }
}

fn problem(problem: &Problem) -> Value {
    let Problem { severity, file, line, message, hint } = problem;
    json!({
        "severity": severity.name(),
        "file": file.display().to_string(),
        "line": line,
        "message": message,
        "hint": hint,
    })
}

fn write_json(value: &Value, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, value)?;
    writeln!(to)
}
