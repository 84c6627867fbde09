//! `ask_user`: a question to a person.

use adjutant_core::{Answer, Ask, Effect, Host, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{brief, typed::TypedTool};

pub(crate) struct AskUser;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The question to ask.
    question: String,
    /// Optional list of choices for multiple-choice.
    choices: Option<Vec<String>>,
}

impl TypedTool for AskUser {
    type Args = Args;
    const NAME: &'static str = "ask_user";
    const EFFECT: Effect = Effect::Ask;

    fn description(&self) -> String {
        "Ask the user a question and wait for their response. Provide optional choices for a \
         multiple-choice question."
            .into()
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.question, 60)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        if args.question.trim().is_empty() {
            return Err(ToolError("`question` is empty: say what you want to know".into()));
        }
        let choices = args.choices.unwrap_or_default();
        match host.ask(Ask::Question { prompt: args.question, choices }).await {
            Answer::Words { text } => Ok(text),
            Answer::Allow | Answer::AllowFromNowOn { .. } => Ok("yes".into()),
            Answer::Deny { reason: None } => Err(ToolError("the user would not answer".into())),
            Answer::Deny { reason: Some(reason) } => {
                Err(ToolError(format!("the user would not answer: {reason}")))
            }
            Answer::Unattended => Err(ToolError(
                "nobody is there to answer: decide for yourself, and say what you assumed".into(),
            )),
        }
    }
}
