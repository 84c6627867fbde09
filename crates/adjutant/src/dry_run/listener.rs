//! Models that only listen.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{
    AgentPath, CallId, Delta, Manner, Model, ModelError, ModelInfo, Models, Part, Request,
    StopReason, ToolCall, ToolChoice, ToolSpec, Trouble, Usage, WireLog,
};
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use serde_json::{Value, json};

/// What agents call others with.
pub(super) const CALL_AGENT: &str = "call_agent";

/// The most agents that are looked at: trees of agents that call one another grow fast.
const MOST: usize = 100;

/// What an agent would have sent first.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) system: String,
    pub(super) task: String,
    pub(super) tools: Vec<Arc<ToolSpec>>,
    pub(super) schema: Option<Value>,
    pub(super) max_output: u64,
    pub(super) manner: Manner,
    /// The agents from the root to this one, by name.
    pub(super) lineage: Vec<String>,
}

impl Sent {
    fn of(request: &Request<'_>, root: &str) -> Self {
        let task = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let lineage = match request.agent == &AgentPath::root() {
            true => vec![root.to_owned()],
            false => lineage(&task),
        };
        Self {
            system: request.system.to_owned(),
            task,
            tools: request.tools.to_vec(),
            schema: request.schema.cloned(),
            max_output: request.max_output,
            manner: request.manner.clone(),
            lineage,
        }
    }

    /// Returns whom the agent may call.
    pub(super) fn callable(&self) -> Vec<&str> {
        let tool = self.tools.iter().find(|tool| tool.name == CALL_AGENT);
        let names = tool.and_then(|tool| tool.parameters["properties"]["agent"]["enum"].as_array());
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// Reads who called whom, which is all that a child is asked here.
fn lineage(task: &str) -> Vec<String> {
    let line = task.strip_prefix("Task: ").unwrap_or(task).lines().next().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_default()
}

/// Returns the name of the call by which an agent calls another.
pub(super) fn call_id(path: &AgentPath, name: &str) -> CallId {
    format!("{path}/{name}").into()
}

/// Models that keep what each agent sends first, and answer with a call of every agent it may
/// call.
pub(super) struct Listeners {
    pub(super) models: Arc<dyn Models>,
    pub(super) heard: Arc<Heard>,
}

/// What was heard.
pub(super) struct Heard {
    /// What the root is called.
    root: String,
    sent: Mutex<BTreeMap<AgentPath, Sent>>,
}

impl Heard {
    /// Begins to listen to a tree whose root is called that.
    pub(super) fn new(root: String) -> Self {
        Self { root, sent: Mutex::default() }
    }

    /// Returns what each agent would have sent.
    pub(super) fn sent(&self) -> BTreeMap<AgentPath, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a request, and returns the calls it is answered with.
    fn hear(&self, request: &Request<'_>) -> Vec<ToolCall> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if request.turn > 1 || sent.contains_key(request.agent) {
            return Vec::new();
        }
        let heard = Sent::of(request, &self.root);
        let is_fit = request.choice == ToolChoice::Free && sent.len() < MOST;
        let names = heard.callable().into_iter().filter(|name| is_fit && !heard.has_above(name));
        let call = |name: &str| {
            let lineage: Vec<_> = heard.lineage.iter().map(String::as_str).chain([name]).collect();
            ToolCall {
                id: call_id(request.agent, name),
                name: CALL_AGENT.to_owned(),
                arguments: json!({ "agent": name, "task": json!(lineage).to_string() }),
                native: None,
            }
        };
        let calls = names.map(call).collect();
        sent.insert(request.agent.clone(), heard);
        calls
    }
}

impl Sent {
    /// Reports whether an agent of that name stands above this one, or is this one.
    pub(super) fn has_above(&self, name: &str) -> bool {
        self.lineage.iter().any(|above| above == name)
    }
}

impl Models for Listeners {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let info = self.models.find(name)?.info().clone();
        Ok(Arc::new(Listener { info, heard: Arc::clone(&self.heard) }))
    }
}

struct Listener {
    info: ModelInfo,
    heard: Arc<Heard>,
}

impl Model for Listener {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let calls = self.heard.hear(&request);
        if calls.is_empty() {
            let end = ModelError::new(Trouble::Refused, "a dry run sends nothing");
            return stream::iter([Err(end)]).boxed();
        }
        let calls = calls.into_iter().map(|call| Delta::Part(Part::Call(call)));
        let end = [Delta::Usage(Usage::default()), Delta::Stop(StopReason::Calls)];
        stream::iter(calls.chain(end).map(Ok).collect::<Vec<_>>()).boxed()
    }
}
