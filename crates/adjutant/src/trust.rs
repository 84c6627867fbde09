//! `adjutant trust`: agreeing to what a project's own files would allow or start.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use adjutant_core::Pattern;
#[cfg(feature = "mcp")]
use adjutant_tools::mcp::ProjectFile;

use crate::{
    CliError, ExitCode, Surroundings,
    agents::{Library, Wanting, named_directories},
    agreement::{Agreed, Agreements},
    arguments::TrustArguments,
    config::{Config, Source, Written, find_project, project_of},
    error::Kind,
    place::working_directory,
};

/// Shows what a project's files would allow or start, and writes down that the person agrees.
pub fn trust(arguments: &TrustArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let directory = working_directory(around, arguments.cwd.as_deref())?;
    let named = named_directories(around, &[], arguments.agents_dir.as_deref())?;
    let library = Library::read(around, &directory, &named);
    let agreements = Agreements::of(around);
    let mut stdout = io::stdout().lock();
    if arguments.revoke {
        for project in projects(&library, &directory)? {
            agreements.agree(&project, |agreed| *agreed = Agreed::default())?;
            writeln!(stdout, "nothing of {} is agreed to any more", project.display())?;
        }
        return Ok(ExitCode::Completed);
    }
    let pending = Pending::find(around, &agreements, (&directory, &library))?;
    if pending.is_empty() {
        writeln!(stdout, "there is nothing here that needs to be agreed to")?;
        return Ok(ExitCode::Completed);
    }
    pending.show(&mut stdout)?;
    if !arguments.yes && !agrees(&mut stdout)? {
        return Ok(ExitCode::Failed);
    }
    pending.agree(&agreements)?;
    let flag = arguments.agents_dir.as_ref().map(|it| format!(" --agents-dir {}", it.display()));
    let flag = flag.unwrap_or_default();
    writeln!(stdout, "agreed; `adjutant trust{flag} --revoke` takes it back")?;
    Ok(ExitCode::Completed)
}

/// Returns the directories whose files may have to be agreed to.
fn projects(library: &Library, directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let configured = find_project(directory)?.map(|(file, _)| project_of(&file).to_owned());
    let mut projects: Vec<_> = configured.into_iter().collect();
    #[cfg(feature = "mcp")]
    projects.extend(server_file(directory)?.map(|file| file.directory().to_owned()));
    projects.extend(library.wanting().map(|wanting| wanting.project().to_owned()));
    projects.sort();
    projects.dedup();
    Ok(projects)
}

#[cfg(feature = "mcp")]
fn server_file(directory: &Path) -> Result<Option<ProjectFile>, CliError> {
    ProjectFile::find(directory).map_err(|why| CliError::new(Kind::Config, why))
}

/// What a project's files would have, and nobody agreed to.
struct Pending {
    project: PathBuf,
    rules: Vec<(String, Source)>,
    #[cfg(feature = "mcp")]
    servers: Option<ProjectFile>,
    agents: Vec<Wanting>,
}

impl Pending {
    fn find(
        around: &Surroundings,
        agreements: &Agreements,
        (directory, library): (&Path, &Library),
    ) -> Result<Self, CliError> {
        let written = Written::read(around, directory, &[])?;
        let rules = Config::check(&written, around)?.untrusted;
        for (rule, source) in &rules {
            // Checked here, since nobody else did: it does not hold yet.
            rule.parse::<Pattern>()
                .map_err(|error| CliError::new(Kind::Config, format!("{source}: {error}")))?;
        }
        #[cfg(feature = "mcp")]
        let servers = match server_file(directory)? {
            Some(file) if agreements.agreed(file.directory())?.mcp != Some(file.digest()) => {
                Some(file)
            }
            _ => None,
        };
        let mut wanting = Vec::new();
        for agent in library.wanting() {
            if !agent.is_agreed(agreements)? {
                wanting.push(agent);
            }
        }
        let project = find_project(directory)?.map(|(file, _)| project_of(&file).to_owned());
        Ok(Self {
            project: project.unwrap_or_default(),
            rules,
            #[cfg(feature = "mcp")]
            servers,
            agents: wanting,
        })
    }

    fn is_empty(&self) -> bool {
        #[cfg(feature = "mcp")]
        if self.servers.is_some() {
            return false;
        }
        self.rules.is_empty() && self.agents.is_empty()
    }

    fn show(&self, to: &mut dyn Write) -> Result<(), CliError> {
        if !self.rules.is_empty() {
            writeln!(to, "{} would allow, without asking:", self.project.display())?;
        }
        for (rule, source) in &self.rules {
            writeln!(to, "  {:40} # {source}", rule.escape_debug().to_string())?;
        }
        #[cfg(feature = "mcp")]
        if let Some(file) = &self.servers {
            let servers = file.servers().map_err(|why| CliError::new(Kind::Config, why))?;
            writeln!(to, "{} would start, outside the sandbox:", file.path.display())?;
            for server in servers {
                writeln!(to, "  {server}")?;
            }
        }
        self.agents.iter().try_for_each(|agent| show_agent(agent, to))
    }

    fn agree(self, agreements: &Agreements) -> Result<(), CliError> {
        let Self { project, rules, .. } = &self;
        if !rules.is_empty() {
            agreements.agree(project, |agreed| {
                agreed.allow.extend(rules.iter().map(|(rule, _)| rule.clone()));
            })?;
        }
        #[cfg(feature = "mcp")]
        if let Some(file) = &self.servers {
            agreements.agree(file.directory(), |agreed| agreed.mcp = Some(file.digest()))?;
        }
        self.agents.iter().try_for_each(|agent| agent.agree(agreements))
    }
}

fn show_agent(agent: &Wanting, to: &mut dyn Write) -> Result<(), CliError> {
    let file = agent.file().display();
    if !agent.rules().is_empty() {
        writeln!(to, "{file} would allow, without asking, when you run that agent:")?;
    }
    for rule in agent.rules() {
        writeln!(to, "  {}", rule.to_string().escape_debug())?;
    }
    #[cfg(feature = "mcp")]
    if !agent.servers().is_empty() {
        writeln!(to, "{file} would start, outside the sandbox:")?;
        for server in agent.servers() {
            writeln!(to, "  {server}")?;
        }
    }
    Ok(())
}

/// Asks the person at the terminal.
fn agrees(stdout: &mut dyn Write) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::new(Kind::Usage, "nobody is there to agree")
            .hint("`--yes` agrees without being asked"));
    }
    write!(stdout, "agree? [y/n] ")?;
    stdout.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
