//! Servers that speak the Model Context Protocol, and their tools.
//!
//! ```text
//!  tool ──▶ line ──▶ connection ──▶ process under a keeper, or HTTP
//! ```
//!
//! A server is written down in the configuration or in a project's `.mcp.json`
//! ([`ProjectFile`]). It has one [line](line), shared by the whole tree: opened once, and
//! opened again when the server has gone. What it says between a call and its result goes to
//! the people and front ends behind that call ([`desk`], [`elicit`]). All that comes from a
//! server is a stranger's word: names, descriptions, schemas and results are bounded and made
//! fit before anybody else sees them.

mod call;
mod connection;
mod content;
mod desk;
mod elicit;
mod expand;
mod field;
mod http;
mod http_client;
mod line;
mod name;
mod process;
mod project_file;
mod restarts;
mod settings;
mod tool;
mod trouble;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use adjutant_core::Tool;
use futures_util::future::join_all;

use self::{line::Line, tool::ServerTool};
pub use self::{
    project_file::ProjectFile,
    settings::{OnFailure, Private, Server, ServerSettings, ToolPattern},
};
use crate::{keeper::Keeper, sandbox::Seals};

/// What servers find around them.
#[derive(Clone, Debug)]
pub struct Environment {
    /// How their processes are kept.
    pub keeper: Keeper,
    /// The variables that can be named in what is written about a server. A server has none
    /// of them but what a program needs to run.
    pub variables: BTreeMap<String, String>,
    /// Where the session works.
    pub directory: PathBuf,
    /// The files of theirs that agents can come near.
    pub seals: Arc<Seals>,
}

/// The servers of a session.
pub struct Mcp {
    lines: Vec<Arc<Line>>,
    /// What can be done with them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What cannot be used, and why.
    pub warnings: Vec<String>,
}

impl Mcp {
    /// Starts servers, all at once. Fails if one of them cannot be used that has to be.
    pub async fn start(servers: Vec<Server>, around: Environment) -> Result<Self, String> {
        let around = Arc::new(around);
        let lines = servers.into_iter().map(|server| Line::new(server, Arc::clone(&around)));
        let lines: Vec<_> = lines.collect();
        let opened = join_all(lines.iter().map(|line| line.connection())).await;
        let mut mcp = Self { lines, tools: Vec::new(), warnings: Vec::new() };
        let mut names = BTreeSet::new();
        for (line, opened) in mcp.lines.clone().iter().zip(opened) {
            match opened {
                Ok(connection) => mcp.add(line, connection.tools(), &mut names),
                Err(why) if line.server.on_failure == OnFailure::Fail => {
                    mcp.end().await;
                    return Err(why);
                }
                Err(why) => mcp.warnings.push(why),
            }
        }
        Ok(mcp)
    }

    fn add(
        &mut self,
        line: &Arc<Line>,
        tools: Vec<rmcp::model::Tool>,
        names: &mut BTreeSet<String>,
    ) {
        for tool in tools.into_iter().filter(|tool| line.server.offers(&tool.name)) {
            let name = crate::brief::line(&tool.name, 64);
            let made = ServerTool::new(line, tool).map(|tool| Arc::new(tool) as Arc<dyn Tool>);
            let made = made.and_then(|tool| match names.insert(tool.spec().name.clone()) {
                true => Ok(tool),
                false => Err("another has its name".to_owned()),
            });
            match made {
                Ok(tool) => self.tools.push(tool),
                Err(why) => {
                    let (server, name) = (&line.server.name, name.escape_debug());
                    self.warnings.push(format!(
                        "MCP server `{server}`: the tool `{name}` is left out: {why}"
                    ));
                }
            }
        }
    }

    /// Ends all servers and returns what could not be seen to end.
    pub async fn end(&self) -> Vec<String> {
        let ends = join_all(self.lines.iter().map(|line| line.end())).await;
        ends.into_iter().filter_map(Result::err).collect()
    }
}
