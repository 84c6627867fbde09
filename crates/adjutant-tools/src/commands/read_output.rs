//! `read_output`: what a command in the background has written.

use std::{sync::Arc, time::Duration};

use adjutant_core::{Effect, Host, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::jobs::Jobs;
use crate::typed::TypedTool;

/// The longest a call may wait, in seconds.
const LONGEST: u64 = 600;

pub(crate) struct ReadOutput(pub(super) Arc<Jobs>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The name run_command gave it, such as `job-1`.
    job: String,
    /// How many seconds to wait for something new or for the end, 600 at most (default: 0).
    #[schemars(range(max = 600))]
    wait: Option<u64>,
}

impl TypedTool for ReadOutput {
    type Args = Args;
    const NAME: &'static str = "read_output";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Returns what a command in the background has written since you last asked, and \
         whether it still runs."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        args.job.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let job = self.0.find(&args.job, host.agent())?;
        let wait = args.wait.unwrap_or(0);
        if wait > LONGEST {
            return Err(ToolError(format!("`wait` is {wait} seconds: expected at most {LONGEST}")));
        }
        let news = timeout(Duration::from_secs(wait), job.has_news());
        // Whether or not there are any.
        let _ = host.token().run_until_cancelled(news).await;
        // Looked at first: when it has ended, the output is whole.
        let state = job.end().map_or_else(|| "running".to_owned(), |end| format!("ended: {end}"));
        let output = job.take_output();
        let output = if output.is_empty() { "[nothing new]\n" } else { &output };
        Ok(format!("{output}{}[{}: {state}]", job.record(host).await, args.job))
    }
}
