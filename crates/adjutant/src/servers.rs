//! The MCP servers of a run: those of the configuration, and those of the project if the
//! person agreed to them.

use std::{collections::BTreeMap, env, ffi::OsString, path::Path, sync::Arc};

use adjutant_core::{Grant, Tool, ToolSpec, Verdict};
use adjutant_tools::{
    mcp::{Environment, Mcp, OnFailure, ProjectFile, Server},
    sandbox::Seals,
};
use serde_json::json;

use crate::{
    CliError, Surroundings, agreement::Agreements, config::Config, error::Kind, keeping,
    programs::Program,
};

/// The servers that may be started.
#[derive(Debug)]
pub struct Servers {
    found: Vec<Server>,
    /// What the person should know of the others.
    pub(crate) warnings: Vec<String>,
}

impl Servers {
    /// Returns those of the configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Self { found: config.servers.clone(), warnings: Vec::new() }
    }

    /// Finds the servers that are written down for a directory. Starts nothing.
    pub(crate) fn find(
        config: &Config,
        around: &Surroundings,
        directory: &Path,
    ) -> Result<Self, CliError> {
        let mut servers = Self::of(config);
        let wrong = |why| CliError::new(Kind::Config, why);
        let Some(file) = ProjectFile::find(directory).map_err(wrong)? else { return Ok(servers) };
        let agreed = Agreements::of(around).agreed(file.directory())?;
        if agreed.mcp == Some(file.digest()) {
            let theirs = file.servers().map_err(wrong)?;
            servers.found.extend(theirs.into_iter().filter(|it| !config.has_server(it.name())));
        } else if has_more(&file, config) {
            servers.warnings.push(format!(
                "{} names servers that are not started until you trust this project: `adjutant \
                 trust` shows them",
                file.path.display()
            ));
        }
        Ok(servers)
    }

    /// Returns the programs that would be started.
    pub(crate) fn programs(&self, directory: &Path) -> Vec<Program> {
        let variables = variables();
        let program = |server: &Server| {
            let directory = server.directory().unwrap_or(directory).to_owned();
            Program { words: server.words(&variables), directory }
        };
        self.found.iter().map(program).collect()
    }

    /// Returns a tool as it would be judged, if a server could have it.
    pub(crate) fn tool(&self, name: &str) -> Option<ToolSpec> {
        let is_theirs = |server: &&Server| name.starts_with(&server.prefix());
        let server = self.found.iter().filter(is_theirs).max_by_key(|it| it.prefix().len())?;
        Some(spec(name.to_owned(), server))
    }

    /// Starts all servers of which an agent may use a tool, and adds their tools to the others.
    /// Returns what a person should know, too.
    pub(crate) async fn start(
        mut self,
        tools: &mut Vec<Arc<dyn Tool>>,
        grant: &Grant,
        (directory, program, seals): (&Path, Option<&Path>, Arc<Seals>),
    ) -> Result<(Option<Mcp>, Vec<String>), CliError> {
        if let Some(unused) = self.found.iter().find(|server| is_missed(grant, server)) {
            let name = unused.name();
            let wrong = format!("MCP server `{name}` is `required`, and no agent may use it");
            return Err(CliError::new(Kind::Config, wrong).hint(format!(
                "`mcp.{name}.effect` says what its tools do; `adjutant permissions explain {}x` \
                 what becomes of them",
                unused.prefix()
            )));
        }
        self.found.retain(|server| !server.offers_none() && may_use(grant, server));
        if self.found.is_empty() {
            return Ok((None, self.warnings));
        }
        let keeper = keeping::keeper(program.ok_or_else(|| {
            CliError::new(
                Kind::Config,
                "servers cannot be started: there is no program to keep them",
            )
        })?);
        let (variables, directory) = (variables(), directory.to_owned());
        let around = Environment { keeper, variables, directory, seals };
        let started = Mcp::start(self.found, around).await;
        let mcp = started.map_err(|why| CliError::new(Kind::Config, why))?;
        tools.extend(mcp.tools.iter().cloned());
        let warnings = self.warnings.into_iter().chain(mcp.warnings.clone()).collect();
        Ok((Some(mcp), warnings))
    }
}

fn variables() -> BTreeMap<String, String> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).collect()
}

/// Reports whether a project's file names a server that the configuration does not have.
/// Nothing else in it matters before somebody agreed to it.
fn has_more(file: &ProjectFile, config: &Config) -> bool {
    let servers = file.servers();
    servers.map_or(true, |servers| servers.iter().any(|it| !config.has_server(it.name())))
}

/// Reports whether a server has to be there, and is of no use.
fn is_missed(grant: &Grant, server: &Server) -> bool {
    let is_useless = server.offers_none() || !may_use(grant, server);
    is_useless && server.on_failure() == OnFailure::Fail
}

/// Reports whether an agent may use a tool of a server, whatever it is called.
fn may_use(grant: &Grant, server: &Server) -> bool {
    // No tool is called that, so only what speaks of all of them speaks of these.
    let mut tools = ["", "  "].into_iter().map(|name| spec(server.prefix() + name, server));
    tools.any(|tool| grant.judge(&tool, &[]).verdict != Verdict::Deny)
}

fn spec(name: String, server: &Server) -> ToolSpec {
    let (description, parameters) = (String::new(), json!({}));
    ToolSpec { name, description, parameters, effect: server.effect() }
}
