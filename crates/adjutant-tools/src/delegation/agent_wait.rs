//! `agent_wait`: waits for agents in the background.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use adjutant_core::{Effect, Host, State, Status, ToolError, WaitFor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DelegationSettings, agent_status::Standing, delegation, json};
use crate::typed::TypedTool;

pub(crate) struct AgentWait(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The sub-agents' ids or paths.
    agent_ids: Vec<String>,
    /// Whether to wait for any one of them, or for all (default: all).
    mode: Option<Whose>,
    /// How many seconds to wait at most (default: as long as it takes).
    timeout: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Whose {
    Any,
    All,
}

#[derive(Serialize)]
struct Response {
    agents: Vec<Standing>,
    timed_out: bool,
}

impl TypedTool for AgentWait {
    type Args = Args;
    const NAME: &'static str = "agent_wait";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Waits until sub-agents in the background have ended, or rest until they are told more, and \
         returns their results. Use it when you can do nothing more without them; otherwise go on, \
         and you are told."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.agent_ids.join(", ")
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        if args.agent_ids.is_empty() {
            let why = "`agent_ids` is empty: name those to wait for; agent_list shows them";
            return Err(ToolError(why.to_owned()));
        }
        let whose = match args.mode {
            Some(Whose::Any) => WaitFor::Any,
            Some(Whose::All) | None => WaitFor::All,
        };
        let patience = args.timeout.map(|seconds| Duration::from_secs(seconds.get()));
        let all = delegation(host)?.wait_for(&args.agent_ids, whose, patience).await?;
        // One that rests does no more until it is told to.
        let is_over = |it: &Status| it.state.is_final() || it.state == State::Resting;
        let timed_out = match whose {
            WaitFor::Any => !all.iter().any(is_over),
            WaitFor::All => !all.iter().all(is_over),
        };
        let read_on = self.0.read_on();
        let agents = all.iter().map(|status| Standing::of(status, 0, read_on)).collect();
        json(&Response { agents, timed_out })
    }
}
