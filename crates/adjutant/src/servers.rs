//! The MCP servers of a run: those of the configuration, and those of the project if the
//! person agreed to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    path::Path,
    sync::Arc,
};

use adjutant_core::{Access, Grant, Host, Order, Tool, ToolError, ToolSpec, Verdict, names};
use adjutant_tools::{
    mcp::{Environment, Mcp, OnFailure, ProjectFile, Server},
    sandbox::Seals,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    CliError, Surroundings,
    agents::{Agents, Definition, Lead},
    agreement::Agreements,
    config::Config,
    error::Kind,
    keeping,
    programs::Program,
};

/// The servers that may be started.
#[derive(Debug)]
pub struct Servers {
    found: Vec<Server>,
    /// Tools of servers that agents name one by one.
    named: BTreeSet<String>,
    /// What the person should know of the others.
    pub(crate) warnings: Vec<String>,
}

impl Servers {
    /// Returns those of the configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Self { found: config.servers.clone(), named: BTreeSet::new(), warnings: Vec::new() }
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

    /// Adds those that named agents have for themselves, of all that may come to be.
    pub(crate) fn with_agents(mut self, agents: &Agents, lead: Option<&Lead>) -> Self {
        let mut theirs: Vec<(Server, BTreeSet<String>)> = Vec::new();
        let lead_name = lead.map(|lead| lead.definition.name.as_str());
        let mut others = 0;
        for definition in agents.reachable(lead) {
            let missed = self.missed_by(definition);
            match lead_name == Some(&*definition.name) {
                true => self.warnings.extend(missed),
                false => others += missed.len(),
            }
            let names = definition.access.names().filter(|name| !name.ends_with('*'));
            self.named.extend(names.filter(|name| name.starts_with("mcp__")).map(str::to_owned));
            for server in &definition.servers {
                let name = server.name();
                let other = theirs.iter_mut().find(|(it, _)| it.name() == name);
                match other {
                    Some((same, users)) if same == server => {
                        users.insert(definition.name.clone());
                    }
                    None if !self.found.iter().any(|it| it.name() == name) => {
                        theirs.push((server.clone(), [definition.name.clone()].into()));
                    }
                    Some(_) | None => self.warnings.push(format!(
                        "{}: the server `{name}` is not started: there is another of that name",
                        definition.place(definition.servers_field())
                    )),
                }
            }
        }
        if others > 0 {
            self.warnings.push(format!(
                "agents that may be called name tools of servers there are not here: `adjutant \
                 agents check` shows them ({others})"
            ));
        }
        self.found.extend(theirs.into_iter().map(|(server, users)| server.only_for(users)));
        self
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

    /// Reports whether one of them, or of an agent's own, may have a tool of that name; a star at
    /// its end stands for any ending.
    pub(crate) fn may_have(&self, named: &str, agent: &Definition) -> bool {
        let mut prefixes = agent.servers.iter().chain(&self.found).map(Server::prefix);
        prefixes.any(|prefix| named.starts_with(&prefix) || names(named, &prefix))
    }

    /// Tells of the tools that an agent lists and no server has, each as a sentence.
    fn missed_by(&self, agent: &Definition) -> Vec<String> {
        let Access::AllowList { tools } = &agent.access else { return Vec::new() };
        let theirs = tools.iter().filter(|name| name.starts_with("mcp__"));
        let missed = theirs.filter(|name| !self.may_have(name, agent));
        let place = agent.place("tools");
        let tell = |name| format!("{place}: `tools` names `{name}`, and no server here has it");
        missed.map(tell).collect()
    }

    /// Returns a tool as it would be judged, if a server could have it.
    pub(crate) fn tool(&self, name: &str) -> Option<ToolSpec> {
        let is_theirs = |server: &&Server| name.starts_with(&server.prefix());
        let server = self.found.iter().filter(is_theirs).max_by_key(|it| it.prefix().len())?;
        Some(spec(name.to_owned(), server))
    }

    /// Keeps those of which an agent may use a tool.
    fn choose(&mut self, grant: &Grant) -> Result<(), CliError> {
        if let Some(unused) = self.found.iter().find(|server| self.is_missed(grant, server)) {
            let name = unused.name();
            let wrong = format!("MCP server `{name}` is `required`, and no agent may use it");
            return Err(CliError::new(Kind::Config, wrong).hint(format!(
                "`mcp.{name}.effect` says what its tools do; `adjutant permissions explain {}x` \
                 what becomes of them",
                unused.prefix()
            )));
        }
        let unused = self.found.iter().filter(|server| server.is_private());
        let unused = unused.filter(|server| !self.may_use(grant, server)).map(|server| {
            let (name, prefix) = (server.name(), server.prefix());
            format!(
                "MCP server `{name}` is not started: whoever calls the agent that has it may not \
                 use its tools; `{prefix}*` among its `tools` would let it"
            )
        });
        let unused: Vec<_> = unused.collect();
        self.warnings.extend(unused);
        let found = std::mem::take(&mut self.found).into_iter();
        let is_used = |server: &Server| !server.offers_none() && self.may_use(grant, server);
        self.found = found.filter(is_used).collect();
        Ok(())
    }

    /// Returns what stands for the tools of those that would be started: all of a server's, and
    /// each that an agent names.
    pub(crate) fn stand_ins(mut self, grant: &Grant) -> Result<StandIns, CliError> {
        self.choose(grant)?;
        let stand_in = |server: &Server, name: String| {
            let server = server.clone();
            let description = format!("Tools of the MCP server `{}`", server.name());
            let spec = Arc::new(ToolSpec { description, ..spec(name, &server) });
            Arc::new(StandIn { spec, server }) as Arc<dyn Tool>
        };
        let theirs = |server: &Server| {
            let prefix = server.prefix();
            let named = self.named.iter().filter(|name| name.starts_with(&prefix)).cloned();
            let named: Vec<_> = named.collect();
            let all = [prefix + "*"].into_iter().chain(named);
            all.map(|name| stand_in(server, name)).collect::<Vec<_>>()
        };
        let tools = self.found.iter().flat_map(theirs).collect();
        let names = self.found.iter().map(|server| server.name().to_owned()).collect();
        Ok(StandIns { tools, names, warnings: self.warnings })
    }

    /// Starts all servers of which an agent may use a tool, and adds their tools to the others.
    /// Returns what a person should know, too.
    pub(crate) async fn start(
        mut self,
        tools: &mut Vec<Arc<dyn Tool>>,
        grant: &Grant,
        (directory, program, seals): (&Path, Option<&Path>, Arc<Seals>),
    ) -> Result<(Option<Mcp>, Vec<String>), CliError> {
        self.choose(grant)?;
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

/// What stands for the tools of servers that are not started.
pub(crate) struct StandIns {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The servers that would be.
    pub(crate) names: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

struct StandIn {
    spec: Arc<ToolSpec>,
    server: Server,
}

impl Tool for StandIn {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn offer(&self, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        self.server.is_for(order.agent.as_deref()).then(|| self.spec())
    }

    fn summary(&self, _: &Value) -> String {
        self.spec.name.clone()
    }

    fn call<'a>(&'a self, _: Value, _: &'a dyn Host) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async { Err(ToolError("its server is not started".to_owned())) })
    }
}

impl Servers {
    /// Reports whether a server has to be there, and is of no use.
    fn is_missed(&self, grant: &Grant, server: &Server) -> bool {
        let is_useless = server.offers_none() || !self.may_use(grant, server);
        is_useless && server.on_failure() == OnFailure::Fail
    }

    /// Reports whether an agent may use a tool of a server: one that it names, or any.
    fn may_use(&self, grant: &Grant, server: &Server) -> bool {
        let prefix = server.prefix();
        // No tool is called that, so only what speaks of all of them speaks of these.
        let any = ["", "  "].into_iter().map(|name| prefix.clone() + name);
        let named = self.named.iter().filter(|name| name.starts_with(&prefix)).cloned();
        let mut tools = any.chain(named).map(|name| spec(name, server));
        tools.any(|tool| grant.judge(&tool, &[]).verdict != Verdict::Deny)
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

fn spec(name: String, server: &Server) -> ToolSpec {
    let (description, parameters) = (String::new(), json!({}));
    ToolSpec { name, description, parameters, effect: server.effect() }
}
