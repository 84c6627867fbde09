//! `peers`: those an agent may write to.

use std::sync::Arc;

use adjutant_core::{Effect, Grant, Host, Order, Peer, Peers as May, ToolError, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::typed::TypedTool;

pub(crate) struct Peers;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

impl TypedTool for Peers {
    type Args = Args;
    const NAME: &'static str = "peers";
    const EFFECT: Effect = Effect::Tell;

    fn description(&self) -> String {
        "Lists the agents you may write to with send_message, and how they stand.".into()
    }

    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        (order.peers != May::Nobody).then_some(spec)
    }

    fn summary(&self, _: &Args) -> String {
        "all peers".into()
    }

    async fn run(&self, _: Args, host: &dyn Host) -> Result<String, ToolError> {
        let peers = super::comms(host)?.peers();
        let line = |peer: &Peer| format!("{}: {}", peer.path, peer.state.name());
        Ok(peers.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
