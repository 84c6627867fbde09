//! `call_agent`: a task for a named agent, which is waited for.

use std::sync::Arc;

use adjutant_core::{
    Caller, Definitions, Effect, Grant, Host, Limits, Listed, Order, Refusal, ToolError, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DelegationSettings, blocking, delegation, task};
use crate::{brief, typed::TypedTool};

pub(crate) struct CallAgent {
    pub(crate) settings: Arc<DelegationSettings>,
    pub(crate) definitions: Arc<dyn Definitions>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Name of the sub-agent (must be in this agent's sub_agents list).
    agent: String,
    /// What you need the sub-agent to do.
    task: String,
    /// Additional context from your conversation to pass along.
    context: Option<String>,
}

impl CallAgent {
    async fn order(&self, args: Args, host: &dyn Host) -> Result<Order, ToolError> {
        let wanted = task(args.task)?;
        let agent = host.order().named();
        let caller = Caller { agent, grant: host.grant(), workdir: host.workdir() };
        let order = self.definitions.order(caller, &args.agent).await;
        let mut order = order.map_err(|why| ToolError::from(Refusal::NoAgent(why)))?;
        let Limits { authority, allowance, asked, .. } = &mut order.limits;
        authority.mode = authority.mode.or(self.settings.child_mode);
        *asked = *allowance;
        *allowance = allowance.or(self.settings.blocking);
        let task = match args.context.filter(|context| !context.trim().is_empty()) {
            None => format!("Task: {wanted}"),
            Some(context) => format!("Task: {wanted}\n\nContext:\n{context}"),
        };
        Ok(Order { task, agent: Some(args.agent), ..order })
    }
}

impl TypedTool for CallAgent {
    type Args = Args;
    const NAME: &'static str = "call_agent";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Delegate a task to a sub-agent. The sub-agent runs independently with its own context and \
         returns only its final result."
            .into()
    }

    /// Offered to an agent that may call some, with a list of them.
    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        let callable = self.definitions.callable(order.named());
        if callable.is_empty() {
            return None;
        }
        let list = |Listed { name, description }: &Listed| format!("\n- {name}: {description}");
        let list: String = callable.iter().map(list).collect();
        let mut spec = ToolSpec::clone(&spec);
        spec.description += &format!(" Available agents:{list}");
        let names: Vec<_> = callable.into_iter().map(|listed| listed.name).collect();
        spec.parameters["properties"]["agent"]["enum"] = names.into();
        Some(Arc::new(spec))
    }

    fn summary(&self, args: &Args) -> String {
        format!("{}: {}", args.agent, brief::line(&args.task, 54))
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let delegation = delegation(host)?;
        let callable = self.definitions.callable(host.order().named());
        if !callable.iter().any(|listed| listed.name == args.agent) {
            let names: Vec<_> = callable.iter().map(|listed| listed.name.as_str()).collect();
            return Err(ToolError(format!(
                "agent \"{}\" is not in this agent's sub_agents list; there are: {}",
                args.agent,
                names.join(", ")
            )));
        }
        let number = Some(delegation.reserve());
        let order = Order { number, ..self.order(args, host).await? };
        blocking::run(&self.settings, delegation, order, None).await
    }
}
