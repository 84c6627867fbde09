//! `stop_command`: the end of a command in the background.

use std::sync::Arc;

use adjutant_core::{Effect, Host, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::jobs::Jobs;
use crate::typed::TypedTool;

pub(crate) struct StopCommand(pub(super) Arc<Jobs>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The name run_command gave it, such as `job-1`.
    job: String,
}

impl TypedTool for StopCommand {
    type Args = Args;
    const NAME: &'static str = "stop_command";
    // It undoes what the agent itself was allowed to do, so nobody has to be asked.
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Kills a command in the background and everything it started, and returns the last of \
         what it wrote."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.job.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let job = self.0.find(&args.job, host.agent())?;
        job.stop();
        let end = job.ended().await;
        let (output, undoing) = (job.take_output(), job.record(host).await);
        let report = format!("{output}{undoing}[{}: {end}]", args.job);
        if end.trouble().is_none() { Ok(report) } else { Err(ToolError(report)) }
    }
}
