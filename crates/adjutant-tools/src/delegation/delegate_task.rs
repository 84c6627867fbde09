//! `delegate_task`: a plan of subtasks, some of which need the results of others.

use std::{fmt::Write as _, sync::Arc};

use adjutant_core::{Effect, Ending, Grant, Host, Order, Plan, Task, TaskEnd, ToolError, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    DelegationSettings, PlanSettings, delegation,
    result::{self, Told},
    spawn_agent::Focused,
};
use crate::{brief, typed::TypedTool};

pub(crate) struct DelegateTask(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// High-level description of the overall goal.
    plan: String,
    /// Ordered list of sub-tasks to execute.
    subtasks: Vec<Subtask>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subtask {
    /// Task description.
    task: String,
    /// Focus directory/file.
    scope: Option<String>,
    /// Index of prerequisite sub-task (0-based), or a list of them. Their results are added to
    /// the task.
    depends_on: Option<Needs>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`depends_on` is the index of a sub-task (0-based), or a list")]
enum Needs {
    One(usize),
    Several(Vec<usize>),
}

impl From<Needs> for Vec<usize> {
    fn from(needs: Needs) -> Self {
        match needs {
            Needs::One(need) => vec![need],
            Needs::Several(needs) => needs,
        }
    }
}

impl DelegateTask {
    fn plan(&self, args: &Args, host: &dyn Host) -> Result<Plan, ToolError> {
        let settings = self.0.plans;
        if args.plan.trim().is_empty() {
            return Err(ToolError("`plan` is empty: say what it is all for".to_owned()));
        }
        if args.subtasks.len() > settings.most {
            let most = settings.most;
            return Err(ToolError(format!("Maximum {most} subtasks allowed per delegation.")));
        }
        let tasks = args.subtasks.iter().enumerate().map(|(place, subtask)| {
            let Subtask { task, scope, depends_on } = subtask.clone();
            let focused = Focused { task, scope, calls: None, mode: None };
            let order = focused.order(&self.0, host);
            let order = order.map_err(|error| ToolError(format!("subtask {place}: {error}")))?;
            let mut needs = depends_on.map(Vec::from).unwrap_or_default();
            needs.sort_unstable();
            needs.dedup();
            Ok(Task { order, needs })
        });
        Ok(Plan {
            goal: args.plan.clone(),
            tasks: tasks.collect::<Result<_, ToolError>>()?,
            at_once: settings.at_once,
            on_error: settings.on_error,
        })
    }

    /// Puts into words how the tasks ended.
    fn report(&self, args: &Args, ends: &[TaskEnd]) -> Result<String, ToolError> {
        let mut text = String::new();
        let (mut calls, mut tokens, mut millis, mut completed) = (0, 0, 0, 0);
        for (place, (end, subtask)) in ends.iter().zip(&args.subtasks).enumerate() {
            let _ = writeln!(text, "\n--- Subtask {place}: {} ---", brief::line(&subtask.task, 80));
            let (status, told) = match end {
                TaskEnd::Ended(report) => {
                    calls += report.receipt.calls;
                    tokens += report.receipt.tokens;
                    millis += report.receipt.millis;
                    completed += u64::from(report.outcome.ending == Ending::Completed);
                    let read_on = self.0.read_on();
                    let (agent, limit, log) = (None, None, &[][..]);
                    let told = Told { report, agent, limit, log, earlier: false, read_on };
                    let told = self.0.style.tell(&told).unwrap_or_else(|error| error.0);
                    (result::status(report.outcome.ending), told)
                }
                TaskEnd::Refused(refusal) => ("error", refusal.to_string()),
                TaskEnd::Skipped { because_of } => {
                    ("skipped", format!("not begun, because of subtask {because_of}"))
                }
            };
            let _ = writeln!(text, "Status: {status}\n{told}");
        }
        let (goal, count, seconds) = (&args.plan, ends.len(), result::seconds(millis));
        // The totals come first, where they are not cut off.
        let text = format!(
            "Delegation: {goal}\nCompleted: {completed}/{count}\nTotal: {calls} tool calls, \
             {tokens} tokens, {seconds} of work\n{text}"
        );
        if ends.iter().all(TaskEnd::is_well) { Ok(text) } else { Err(ToolError(text)) }
    }
}

impl TypedTool for DelegateTask {
    type Args = Args;
    const NAME: &'static str = "delegate_task";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        let PlanSettings { at_once, most, .. } = self.0.plans;
        let order = match at_once {
            1 => "run them sequentially".to_owned(),
            _ => format!(
                "run those that do not depend on one another side by side, {at_once} at a time"
            ),
        };
        format!(
            "Break a complex task into sub-tasks, {most} at most, and {order}. Each sub-task spawns \
             a sub-agent. Results are aggregated into a single report. Use for multi-step \
             investigations or when exploring multiple areas of the codebase."
        )
    }

    fn offer(&self, spec: Arc<ToolSpec>, _: &Order, grant: &Grant) -> Option<Arc<ToolSpec>> {
        self.0.offers_focused(grant).then_some(spec)
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.plan, 54)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let delegation = delegation(host)?;
        let ends = delegation.carry_out(self.plan(&args, host)?).await?;
        self.report(&args, &ends)
    }
}
