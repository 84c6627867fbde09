//! `write_input`: something for a command in the background to read.

use std::{path::Path, sync::Arc, time::Duration};

use adjutant_core::{Effect, Host, Target, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use super::{
    job::{Input, Job},
    jobs::Jobs,
};
use crate::{brief, typed::TypedTool};

/// How long a command that does not read is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of the text a line shows.
const SUMMARY: usize = 200;

pub(crate) struct WriteInput(pub(super) Arc<Jobs>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The name run_command gave it, such as `job-1`.
    job: String,
    /// What to give it, byte for byte: a line needs its line break.
    text: Option<String>,
    /// Whether that is the end of its input (default: false).
    close: Option<bool>,
}

impl TypedTool for WriteInput {
    type Args = Args;
    const NAME: &'static str = "write_input";
    const EFFECT: Effect = Effect::Execute;

    fn description(&self) -> String {
        "Gives a command in the background something to read from its stdin, closes that, or \
         both."
            .into()
    }

    // A shell does what it reads, with all that it may do.
    fn touches(&self, args: &Args, _: &Path) -> Vec<Touch> {
        let text = args.text.clone().unwrap_or_default();
        let mut touches = vec![Touch { effect: Effect::Execute, target: Target::Words(text) }];
        touches.extend(self.0.freedoms(&args.job));
        touches
    }

    fn summary(&self, args: &Args) -> String {
        let text = args.text.as_deref().unwrap_or("[the end of its input]");
        brief::line(&format!("{}: {}", args.job, text.trim()), SUMMARY)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let Args { job: name, text, close } = args;
        let job = self.0.find(&name, host.agent())?;
        // One that was started since may do more than the call was judged by.
        if self.0.freedoms(&name).iter().any(|freedom| !host.judged().contains(freedom)) {
            return Err(ToolError(format!("{name} was not there when this was judged: try again")));
        }
        let text = text.filter(|text| !text.is_empty()).map(|text| Input::Bytes(text.into()));
        let close = close.unwrap_or(false).then_some(Input::Close);
        if text.is_none() && close.is_none() {
            return Err(ToolError("there is neither a `text` nor `close`: give one".into()));
        }
        for input in text.into_iter().chain(close) {
            write(&job, &name, input).await?;
        }
        Ok(format!("[given to {name}]"))
    }
}

async fn write(job: &Job, name: &str, input: Input) -> Result<(), ToolError> {
    let why = match timeout(PATIENCE, job.write(input)).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(_)) => match job.end() {
            Some(end) => format!("{name} reads nothing more, it has ended: {end}"),
            None => format!("{name} reads nothing more: its input is closed"),
        },
        Err(_) => format!("{name} has not read what it was given before; nothing was added"),
    };
    Err(ToolError(why))
}
