//! What a run would send, and what each of its agents could do and spend.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use adjutant_core::{
    AgentPath, Allowance, Chosen, Clamp, Event, EventKind, Isolation, Limits, Manner, Message,
    Mode, Rules, SessionId, ToolSpec,
};
use adjutant_tools::ArtifactSettings;
use serde::Serialize;
use serde_json::Value;

use super::{
    join,
    listener::{Sent, call_id},
};
use crate::{
    CliError,
    agents::{Agents, Definition},
    error::Kind,
};

/// What is known of the root alone.
pub(super) struct Top {
    pub(super) rules: Rules,
    pub(super) budget: Allowance,
    pub(super) depth: u8,
    pub(super) scope: Vec<PathBuf>,
    pub(super) servers: Vec<String>,
}

/// What a run would send.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The root.
    #[serde(flatten)]
    pub(super) root: Agent,
    /// What the root is asked.
    pub(super) task: String,
    /// The MCP servers that would be started.
    pub(super) servers: Vec<String>,
    /// What a person should know.
    pub(super) warnings: Vec<String>,
}

/// One agent.
#[derive(Debug, Serialize)]
pub(super) struct Agent {
    /// The named agent it is.
    pub(super) agent: Option<String>,
    /// Where that is written.
    pub(super) file: Option<PathBuf>,
    pub(super) model: String,
    pub(super) chosen: Chosen,
    pub(super) mode: Mode,
    pub(super) workdir: Option<String>,
    /// The directories it may reach.
    pub(super) scope: Vec<PathBuf>,
    pub(super) isolation: Isolation,
    pub(super) tools: Vec<Tool>,
    pub(super) rules: Rules,
    /// Those of its callers, which hold for it too.
    pub(super) rules_above: Rules,
    pub(super) budget: Allowance,
    /// How many levels of agents there may be below it.
    pub(super) depth: u8,
    pub(super) max_tokens: u64,
    pub(super) params: Manner,
    pub(super) output_schema: Option<Value>,
    pub(super) memory: Option<PathBuf>,
    pub(super) artifacts: Option<String>,
    /// What it is told first.
    pub(super) system: String,
    /// How long that is, in bytes.
    pub(super) prompt_bytes: usize,
    /// What it asks for and does not get in full.
    pub(super) clamped: Vec<Clamp>,
    /// The agents it may call.
    pub(super) calls: Vec<Called>,
}

/// A tool.
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    /// The JSON Schema of its arguments.
    pub(super) parameters: Value,
}

/// An agent that another may call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Called {
    /// It is this.
    Agent(Box<Agent>),
    /// It is not looked at.
    Unseen { agent: String, why: String },
}

/// All that there is to report from.
pub(super) struct Material<'a> {
    started: BTreeMap<&'a AgentPath, &'a Event>,
    /// What failed calls were told.
    failed: BTreeMap<&'a str, &'a str>,
    /// Why the root ended.
    end: Option<&'a str>,
    sent: BTreeMap<AgentPath, Sent>,
    places: Places<'a>,
}

/// Where agents keep things.
pub(super) struct Places<'a> {
    pub(super) agents: &'a Agents,
    pub(super) artifacts: &'a ArtifactSettings,
    /// The session of the rehearsal, which never is.
    pub(super) session: SessionId,
}

/// What an agent may do and spend at most, whoever stands above it.
struct Held {
    depth: u8,
    scope: Vec<PathBuf>,
    budget: Allowance,
    rules: Rules,
    /// What its callers forbid or have asked about, which holds for it too.
    above: Rules,
}

impl Report {
    pub(super) fn new(
        top: Top,
        warnings: Vec<String>,
        material: &Material<'_>,
    ) -> Result<Self, CliError> {
        let path = AgentPath::root();
        let Top { rules, budget, depth, scope, servers } = top;
        let held = Held { depth, scope, budget, rules, above: Rules::default() };
        let found = material.sent.get(&path).zip(material.agent(&path, held));
        let Some((sent, root)) = found else {
            let why = material.end.unwrap_or("the root does not begin");
            return Err(CliError::new(Kind::Usage, format!("nothing would be sent: {why}")));
        };
        Ok(Self { root, task: sent.task.clone(), servers, warnings })
    }
}

impl<'a> Material<'a> {
    pub(super) fn new(
        events: &'a [Arc<Event>],
        sent: BTreeMap<AgentPath, Sent>,
        places: Places<'a>,
    ) -> Self {
        let (started, failed) = (BTreeMap::new(), BTreeMap::new());
        let mut material = Self { started, failed, end: None, sent, places };
        for event in events {
            match &event.kind {
                EventKind::Started { .. } => {
                    material.started.insert(&event.path, event);
                }
                EventKind::Said { message } => {
                    let Message::Tools { results } = &**message else { continue };
                    let failed = results.iter().filter(|result| result.failed);
                    material.failed.extend(failed.map(|it| (&*it.call, it.text.as_str())));
                }
                EventKind::Finished { outcome, .. } => material.end = outcome.reason.as_deref(),
                _ => {}
            }
        }
        material
    }

    fn agent(&self, path: &AgentPath, held: Held) -> Option<Agent> {
        let (event, sent) = (self.started.get(path)?, self.sent.get(path)?);
        let EventKind::Started { order, model, chosen, mode, clamped, workdir, .. } = &event.kind
        else {
            return None;
        };
        let definition = order.agent.as_ref().and_then(|name| self.places.agents.library.get(name));
        // The root works where it is started.
        let isolated = definition.filter(|_| *path != AgentPath::root());
        let isolation = isolated.map(|it| it.isolation).unwrap_or_default();
        let below = |name: &&str| self.called(path, name, &held);
        let calls = sent.callable().iter().map(below).collect();
        Some(Agent {
            agent: order.agent.clone(),
            file: definition.map(|it| it.origin.file.clone()),
            model: model.to_string(),
            chosen: *chosen,
            mode: *mode,
            workdir: workdir.clone(),
            isolation,
            tools: sent.tools.iter().map(|spec| Tool::of(spec)).collect(),
            rules: held.rules,
            rules_above: held.above,
            budget: held.budget,
            depth: held.depth,
            scope: held.scope,
            max_tokens: sent.max_output,
            params: sent.manner.clone(),
            output_schema: sent.schema.clone(),
            memory: definition.and_then(|it| self.places.memory(it)),
            artifacts: self.places.artifacts(order.agent.as_deref()),
            system: sent.system.clone(),
            prompt_bytes: sent.system.len(),
            clamped: clamped.clone(),
            calls,
        })
    }

    /// Returns an agent that another may call, or why it is not looked at.
    fn called(&self, above: &AgentPath, name: &str, held: &Held) -> Called {
        let unseen = |why: &str| Called::Unseen { agent: name.to_owned(), why: why.to_owned() };
        let id = call_id(above, name);
        let mut started = self.started.values();
        if let Some(event) = started.find(|event| event.call.as_ref() == Some(&id)) {
            let agent = self.agent(&event.path, held.by(event));
            return agent.map_or_else(
                || unseen("it would send nothing: its budget does not cover a call"),
                |agent| Called::Agent(Box::new(agent)),
            );
        }
        let is_above = self.sent.get(above).is_some_and(|sent| sent.has_above(name));
        match self.failed.get(&*id) {
            Some(why) => unseen(why),
            None if is_above => unseen("it is above already: as often as depth allows"),
            None => unseen("left out: there are too many, or no turn to call it in"),
        }
    }
}

impl Places<'_> {
    fn memory(&self, definition: &Definition) -> Option<PathBuf> {
        self.agents.shelf.book(definition).ok().flatten().map(|book| book.path)
    }

    fn artifacts(&self, agent: Option<&str>) -> Option<String> {
        let own = agent.and_then(|agent| self.artifacts.named.get(agent));
        let directory = self.artifacts.everyone.as_ref().or(own.map(|own| &own.directory))?;
        let directory = directory.display().to_string();
        Some(directory.replace(&self.session.to_string(), "SESSION"))
    }
}

impl Held {
    /// Returns what is held of it by a child that started.
    fn by(&self, event: &Event) -> Self {
        let Limits { authority, allowance, .. } = match &event.kind {
            EventKind::Started { order, .. } => order.limits.clone(),
            _ => Limits::default(),
        };
        let left = self.depth.saturating_sub(1);
        // Turns and tool calls are each agent's own.
        let shared = Allowance { turns: None, calls: None, ..self.budget };
        let stricter = Rules { allow: Vec::new(), ..self.rules.clone() };
        Self {
            depth: authority.depth.map_or(left, |wanted| wanted.min(left)),
            scope: authority.scope.map_or_else(|| self.scope.clone(), |scope| vec![scope]),
            budget: allowance.capped(Some(shared)),
            rules: authority.rules,
            above: join(self.above.clone(), stricter),
        }
    }
}

impl Tool {
    fn of(spec: &ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec.clone();
        Self { name, description, parameters }
    }
}
