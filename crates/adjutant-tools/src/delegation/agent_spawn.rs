//! `agent_spawn`: a child that works in the background.

use std::{num::NonZeroUsize, path::Path, sync::Arc};

use adjutant_core::{
    Access, Delivery, Effect, Host, Limits, Order, Peers, Refusal, Stay, ToolError, Touch, Wish,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    DelegationSettings,
    budget::Budget,
    delegation,
    extras::{Extras, Place},
    files, json, name_models, name_provider,
    spawned::Spawned,
    task,
    tool_access::ToolAccess,
};
use crate::{brief, typed::TypedTool};

pub(crate) struct AgentSpawn(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The task. The sub-agent knows nothing of this conversation, so say all it needs, and
    /// what to answer with.
    prompt: String,
    /// The provider of its model.
    provider: Option<String>,
    /// The model it runs on.
    model: Option<String>,
    /// Which of your tools it has (default: all of them).
    tool_access: Option<ToolAccess>,
    /// What it may spend.
    budget: Option<Budget>,
    /// Another system prompt than yours.
    system_prompt: Option<String>,
    /// Keep the agent alive after the initial prompt, for messages. Needs comms.
    host_mode: Option<bool>,
    /// A JSON Schema for its answer, which is then JSON that fits. Use it where you need facts
    /// in a known shape.
    output_schema: Option<Map<String, Value>>,
    /// Where it works (default: shared).
    isolation: Option<Place>,
    /// How many of the last messages of this conversation it is shown (default: none).
    last_n: Option<NonZeroUsize>,
    /// Files whose contents it is given with the task.
    files: Option<Vec<String>>,
    /// false: do it again even if the same was done before and nothing has changed.
    cache: Option<bool>,
}

impl AgentSpawn {
    fn order(&self, args: Args) -> Result<Order, ToolError> {
        self.0.refuse(&[
            ("output_schema", args.output_schema.is_some()),
            ("isolation", args.isolation.is_some()),
            ("last_n", args.last_n.is_some()),
            ("files", args.files.is_some()),
            ("cache", args.cache.is_some()),
        ])?;
        let budget = args.budget.unwrap_or_default();
        self.0.refuse(&[
            ("budget.max_seconds", budget.max_seconds.is_some()),
            ("budget.max_usd", budget.max_usd.is_some()),
        ])?;
        let access = args.tool_access.map_or(Access::Inherit, Access::from);
        let authority = Wish { access, mode: self.0.child_mode, ..Wish::default() };
        let asked = budget.asked()?;
        let allowance = asked.or(self.0.background);
        let stay = match args.host_mode {
            Some(true) if self.0.peers == Peers::Nobody => return Err(Refusal::NoComms.into()),
            Some(true) => Stay::UntilTold,
            Some(false) | None => Stay::UntilDone,
        };
        let order = Order {
            name: "agent".to_owned(),
            task: task(args.prompt)?,
            provider: args.provider,
            model: args.model,
            instructions: args.system_prompt,
            limits: Limits { authority, allowance, asked, ..Limits::default() },
            delivery: Delivery::Pushed,
            stay,
            peers: self.0.peers,
            ..Order::default()
        };
        let Args { output_schema, isolation, last_n, .. } = args;
        Ok(Extras { output_schema, isolation, last_n }.onto(order))
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
        if let Some(tokens) = self.0.background.tokens {
            text += &format!(" Without budget.max_tokens it has {tokens} tokens.");
        }
        text
    }

    fn refine(&self, parameters: &mut Value) {
        self.0.withhold(&["budget"], parameters);
        name_models(parameters, &self.0.models);
        name_provider(parameters, self.0.provider.as_deref());
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        files::touches(args.files.as_deref().unwrap_or_default(), workdir)
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.prompt, 54)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let delegation = delegation(host)?;
        let (cache, files) = (args.cache, args.files.clone().unwrap_or_default());
        let mut order = self.order(args)?;
        order.task += &files::quote(&files, host).await?;
        if self.0.uses_earlier(cache)
            && let Some(report) = delegation.recall(&order).await
        {
            return json(&Spawned::earlier(&report, self.0.read_on()));
        }
        let peers = order.peers;
        let started = delegation.start(order).await?;
        json(&Spawned::fresh(&started, peers))
    }
}
