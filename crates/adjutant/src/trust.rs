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
    agreement::{Agreed, Agreements},
    arguments::TrustArguments,
    config::{Config, Source, Written, find_project, project_of},
    error::Kind,
    place::working_directory,
};

/// Shows what a project's files would allow or start, and writes down that the person agrees.
pub fn trust(arguments: &TrustArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let directory = working_directory(around, arguments.cwd.as_deref())?;
    let agreements = Agreements::of(around);
    let mut stdout = io::stdout().lock();
    if arguments.revoke {
        for project in projects(&directory)? {
            agreements.agree(&project, |agreed| *agreed = Agreed::default())?;
            writeln!(stdout, "nothing of {} is agreed to any more", project.display())?;
        }
        return Ok(ExitCode::Completed);
    }
    let pending = Pending::find(around, &agreements, &directory)?;
    if pending.is_empty() {
        writeln!(stdout, "there is nothing here that needs to be agreed to")?;
        return Ok(ExitCode::Completed);
    }
    pending.show(&mut stdout)?;
    if !arguments.yes && !agrees(&mut stdout)? {
        return Ok(ExitCode::Failed);
    }
    pending.agree(&agreements)?;
    writeln!(stdout, "agreed; `adjutant trust --revoke` takes it back")?;
    Ok(ExitCode::Completed)
}

/// Returns the directories whose files may have to be agreed to.
fn projects(directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let configured = find_project(directory)?.map(|(file, _)| project_of(&file).to_owned());
    let mut projects: Vec<_> = configured.into_iter().collect();
    #[cfg(feature = "mcp")]
    projects.extend(server_file(directory)?.map(|file| file.directory().to_owned()));
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
}

impl Pending {
    fn find(
        around: &Surroundings,
        agreements: &Agreements,
        directory: &Path,
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
        #[cfg(not(feature = "mcp"))]
        let _ = agreements;
        let project = find_project(directory)?.map(|(file, _)| project_of(&file).to_owned());
        Ok(Self {
            project: project.unwrap_or_default(),
            rules,
            #[cfg(feature = "mcp")]
            servers,
        })
    }

    fn is_empty(&self) -> bool {
        #[cfg(feature = "mcp")]
        if self.servers.is_some() {
            return false;
        }
        self.rules.is_empty()
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
        Ok(())
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
        Ok(())
    }
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
