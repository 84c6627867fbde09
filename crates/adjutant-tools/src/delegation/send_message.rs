//! `send_message`: a message to an agent that is not below.

use std::sync::Arc;

use adjutant_core::{Effect, Grant, Host, Order, Peers, ToolError, ToolSpec, When};
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent_send::Heard;
use crate::{brief, typed::TypedTool};

pub(crate) struct SendMessage;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Who is to read it: `parent`, or a path that `peers` lists.
    to: String,
    /// What to say.
    message: String,
    /// queue: heard when the other has done what it is doing; steer: heard before its next
    /// turn (default: queue).
    when: Option<Heard>,
}

impl TypedTool for SendMessage {
    type Args = Args;
    const NAME: &'static str = "send_message";
    const EFFECT: Effect = Effect::Tell;

    fn description(&self) -> String {
        "Sends a message to the agent that started you, or to another you may write to. It is \
         heard between the other's turns; go on with your work meanwhile."
            .into()
    }

    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        (order.peers != Peers::Nobody).then_some(spec)
    }

    fn summary(&self, args: &Args) -> String {
        format!("{}: {}", args.to, brief::line(&args.message, 54))
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let Args { to, message, when } = args;
        let text = super::said(message)?;
        let comms = super::comms(host)?;
        comms.write(&to, text, when.map_or(When::Queue, When::from)).await?;
        Ok(format!("sent to {to}"))
    }
}
