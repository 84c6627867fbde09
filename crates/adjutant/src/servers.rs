//! The MCP servers of a run: those of the configuration, and those of the project if the
//! person agreed to them.

use std::{env, path::Path, sync::Arc};

use adjutant_core::{Grant, Tool, ToolSpec, Verdict};
use adjutant_tools::mcp::{Environment, Mcp, ProjectFile, Server};
use serde_json::json;

use crate::{CliError, Surroundings, agreement::Agreements, config::Config, error::Kind, keeping};

/// The servers that may be started.
#[derive(Debug)]
pub struct Servers {
    found: Vec<Server>,
    /// What the person should know of the others.
    pub(crate) warnings: Vec<String>,
}

impl Servers {
    /// Finds the servers that are written down for a directory. Starts nothing.
    pub(crate) fn find(
        config: &Config,
        around: &Surroundings,
        directory: &Path,
    ) -> Result<Self, CliError> {
        let mut servers = Self { found: config.servers.clone(), warnings: Vec::new() };
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

    /// Starts all servers of which an agent may use a tool, and adds their tools to the others.
    pub(crate) async fn start(
        mut self,
        mut tools: Vec<Arc<dyn Tool>>,
        grant: &Grant,
        directory: &Path,
    ) -> Result<(Mcp, Vec<Arc<dyn Tool>>), CliError> {
        self.found.retain(|server| !server.offers_none() && may_use(grant, server));
        let keeper = keeping::keeper().ok_or_else(|| {
            CliError::new(Kind::Internal, "the program cannot find itself to keep servers")
        })?;
        let variables = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let (variables, directory) = (variables.collect(), directory.to_owned());
        let started = Mcp::start(self.found, Environment { keeper, variables, directory }).await;
        let mut mcp = started.map_err(|why| CliError::new(Kind::Config, why))?;
        mcp.warnings.splice(..0, self.warnings);
        tools.extend(mcp.tools.iter().cloned());
        Ok((mcp, tools))
    }
}

/// Reports whether a project's file names a server that the configuration does not have.
/// Nothing else in it matters before somebody agreed to it.
fn has_more(file: &ProjectFile, config: &Config) -> bool {
    let servers = file.servers();
    servers.map_or(true, |servers| servers.iter().any(|it| !config.has_server(it.name())))
}

/// Reports whether an agent may use a tool of a server, whatever it is called.
fn may_use(grant: &Grant, server: &Server) -> bool {
    // No tool is called that, so only what speaks of all of them speaks of these.
    let mut tools = ["", "  "].into_iter().map(|name| ToolSpec {
        name: server.prefix() + name,
        description: String::new(),
        parameters: json!({}),
        effect: server.effect(),
    });
    tools.any(|tool| grant.judge(&tool, &[]).verdict != Verdict::Deny)
}
