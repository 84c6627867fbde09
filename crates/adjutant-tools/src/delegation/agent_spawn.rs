//! `agent_spawn`: a child that works in the background.

use std::num::NonZeroU64;

use adjutant_core::{
    Access, Allowance, AllowedModels, Context, Delivery, Effect, Host, Isolation, Limits, Order,
    Started, ToolError, Wish,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use super::{DelegationSettings, delegation, json, name_models, report, schema, task};
use crate::{brief, typed::TypedTool};

pub(crate) struct AgentSpawn {
    allowance: Allowance,
    models: AllowedModels,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task. The sub-agent knows nothing of this conversation, so say all it needs, and
    /// what to answer with.
    prompt: String,
    /// Another provider than yours; `model` is then one of its models.
    provider: Option<String>,
    /// Another model than yours.
    model: Option<String>,
    /// Which of your tools it has (default: all of them).
    #[serde(default, deserialize_with = "object_or_text")]
    tool_access: Option<ToolAccess>,
    /// What it may spend.
    budget: Option<Budget>,
    /// Another system prompt than yours.
    system_prompt: Option<String>,
    /// A JSON Schema for its answer, which is then JSON that fits. Use it where you need facts
    /// in a known shape.
    output_schema: Option<Map<String, Value>>,
}

/// Empty braces make serde refuse a `tools` that would mean nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
enum ToolAccess {
    Inherit {},
    AllowList { tools: Vec<String> },
    DenyList { tools: Vec<String> },
    ReadOnly {},
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Budget {
    /// Tokens in and out, its own sub-agents included.
    #[schemars(range(min = 1))]
    max_tokens: Option<u64>,
    /// Model calls.
    #[schemars(range(min = 1))]
    max_turns: Option<u64>,
    /// Tool calls.
    #[schemars(range(min = 1))]
    max_tool_calls: Option<u64>,
}

#[derive(Serialize)]
struct Response<'a> {
    agent_id: String,
    name: String,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    model: &'a str,
    state: &'a str,
    message: &'a str,
}

impl From<ToolAccess> for Access {
    fn from(access: ToolAccess) -> Self {
        match access {
            ToolAccess::Inherit {} => Self::Inherit,
            ToolAccess::AllowList { tools } => {
                Self::AllowList { tools: tools.into_iter().collect() }
            }
            ToolAccess::DenyList { tools } => Self::DenyList { tools: tools.into_iter().collect() },
            ToolAccess::ReadOnly {} => Self::ReadOnly,
        }
    }
}

/// Reads the policy also where a model wrote it as text.
fn object_or_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ToolAccess>, D::Error> {
    let read = match Value::deserialize(from)? {
        Value::String(text) => serde_json::from_str(&text),
        value => serde_json::from_value(value),
    };
    read.map_err(D::Error::custom)
}

fn positive(name: &str, amount: Option<u64>) -> Result<Option<NonZeroU64>, ToolError> {
    match amount.map(NonZeroU64::new) {
        Some(None) => Err(ToolError(format!("`budget.{name}` must be positive"))),
        Some(amount) => Ok(amount),
        None => Ok(None),
    }
}

impl AgentSpawn {
    pub(crate) fn new(settings: &DelegationSettings) -> Self {
        Self { allowance: settings.agent_spawn, models: settings.models.clone() }
    }

    fn order(&self, args: Args) -> Result<Order, ToolError> {
        let access = args.tool_access.map_or(Access::Inherit, Access::from);
        let authority = Wish { access, ..Wish::default() };
        let allowance = self.allowance(&args.budget.unwrap_or_default())?;
        Ok(Order {
            name: "agent".to_owned(),
            task: task(args.prompt)?,
            context: Context::Fresh,
            provider: args.provider,
            model: args.model,
            instructions: args.system_prompt,
            schema: schema(args.output_schema),
            limits: Limits { authority, allowance },
            delivery: Delivery::Pushed,
            isolation: Isolation::Shared,
        })
    }

    fn allowance(&self, budget: &Budget) -> Result<Allowance, ToolError> {
        let usual = self.allowance;
        Ok(Allowance {
            tokens: positive("max_tokens", budget.max_tokens)?.or(usual.tokens),
            turns: positive("max_turns", budget.max_turns)?.or(usual.turns),
            calls: positive("max_tool_calls", budget.max_tool_calls)?.or(usual.calls),
            ..usual
        })
    }
}

impl TypedTool for AgentSpawn {
    type Args = Args;
    const NAME: &'static str = "agent_spawn";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        let mut text = "Starts a sub-agent with a clean context in the background and returns \
                        its id at once. Use it for independent work while you do something else. \
                        Its result comes to you by itself when it ends, so do not poll."
            .to_owned();
        if let Some(tokens) = self.allowance.tokens {
            text += &format!(" Without budget.max_tokens it has {tokens} tokens.");
        }
        text
    }

    fn refine(&self, parameters: &mut Value) {
        name_models(parameters, &self.models);
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.prompt, 54)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let Started { id, path, model } = delegation(host)?.start(self.order(args)?).await?;
        let (provider, model) = match model.split_once('/') {
            Some((provider, model)) => (Some(provider), model),
            None => (None, &*model),
        };
        json(&Response {
            agent_id: id.to_string(),
            name: report::name(id),
            path: path.as_str(),
            provider,
            model,
            state: "running",
            message: "Sub-agent spawned successfully. Use agent_status to check progress; you \
                      are told when it ends, so there is no need to poll.",
        })
    }
}
