//! `agent_fork`: a child that knows all its parent knows.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    sync::Arc,
};

use adjutant_core::{
    Access, Allowance, Context, Delivery, Effect, Host, Limits, Order, Share, ToolError, Wish,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    DelegationSettings, delegation,
    extras::{Extras, Place},
    json, name_models, name_provider,
    spawned::Spawned,
    task,
    tool_access::ToolAccess,
};
use crate::{brief, typed::TypedTool};

pub(crate) struct AgentFork(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What it is to do, added to the conversation it inherits.
    prompt: String,
    /// The provider of its model.
    provider: Option<String>,
    /// The model it runs on.
    model: Option<String>,
    /// Which of your tools it may use (default: all of them).
    tool_access: Option<ToolAccess>,
    /// How many tokens it may use: equal (the usual budget), remaining (all you have left),
    /// proportional (a fair part of that), or fixed:N.
    budget_policy: Option<String>,
    /// How many of the last messages it inherits (default: all).
    last_n: Option<NonZeroUsize>,
    /// true: it inherits a summary of the conversation instead, which it writes first.
    summary: Option<bool>,
    /// A JSON Schema for its answer, which is then JSON that fits.
    output_schema: Option<Map<String, Value>>,
    /// Where it works (default: shared).
    isolation: Option<Place>,
}

/// Reads a policy: whose it is to say how many tokens, and how many the call says.
fn policy(written: Option<&str>) -> Result<(Share, Option<NonZeroU64>), ToolError> {
    let wrong = || {
        let written = written.unwrap_or_default();
        ToolError(format!(
            "`budget_policy` is `{written}`: expected equal, remaining, proportional or fixed:N \
             with N at least 1"
        ))
    };
    match written.unwrap_or("equal") {
        "equal" => Ok((Share::Given, None)),
        "remaining" => Ok((Share::Remaining, None)),
        "proportional" => Ok((Share::Proportional, None)),
        other => {
            let fixed = other.strip_prefix("fixed:").and_then(|count| count.trim().parse().ok());
            Ok((Share::Given, Some(fixed.ok_or_else(wrong)?)))
        }
    }
}

impl AgentFork {
    fn order(&self, args: Args) -> Result<Order, ToolError> {
        self.0.refuse(&[
            ("output_schema", args.output_schema.is_some()),
            ("isolation", args.isolation.is_some()),
            ("last_n", args.last_n.is_some()),
            ("summary", args.summary.is_some()),
        ])?;
        let context = match args.summary {
            Some(true) if args.last_n.is_some() => {
                let why = "`summary` and `last_n` exclude each other: leave one out";
                return Err(ToolError(why.to_owned()));
            }
            Some(true) => Context::Summary,
            Some(false) | None => Context::Fork,
        };
        let access = args.tool_access.map_or(Access::Inherit, Access::from);
        let (share, tokens) = policy(args.budget_policy.as_deref())?;
        let asked = Allowance { tokens, ..Allowance::default() };
        let authority = Wish { access, mode: self.0.child_mode, ..Wish::default() };
        let usual = match share {
            Share::Given => self.0.background,
            Share::Remaining | Share::Proportional => {
                Allowance { tokens: None, ..self.0.background }
            }
        };
        let order = Order {
            name: "fork".to_owned(),
            task: task(args.prompt)?,
            context,
            provider: args.provider,
            model: args.model,
            limits: Limits { authority, allowance: asked.or(usual), asked, share },
            delivery: Delivery::Pushed,
            ..Order::default()
        };
        let Args { output_schema, isolation, last_n, .. } = args;
        Ok(Extras { output_schema, isolation, last_n }.onto(order))
    }
}

impl TypedTool for AgentFork {
    type Args = Args;
    const NAME: &'static str = "agent_fork";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Starts a sub-agent in the background that inherits this whole conversation, and returns \
         its id at once. Use it to explore alternatives side by side, or for a subtask that needs \
         all you know. Its result comes to you by itself when it ends, so do not poll."
            .into()
    }

    fn refine(&self, parameters: &mut Value) {
        self.0.withhold(&[], parameters);
        name_models(parameters, &self.0.models);
        name_provider(parameters, self.0.provider.as_deref());
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.prompt, 54)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let order = self.order(args)?;
        let started = delegation(host)?.start(order).await?;
        json(&Spawned::fork(&started))
    }
}
