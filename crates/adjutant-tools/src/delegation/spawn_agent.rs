//! `spawn_agent`: a focused task for a child that is waited for.

use std::{num::NonZeroU64, sync::Arc};

use adjutant_core::{
    Access, Allowance, Clamp, Effect, Grant, Host, Limits, Mode, Order, ToolError, ToolSpec, Wish,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{DelegationSettings, Style, blocking, delegation, task};
use crate::{brief, typed::TypedTool};

pub(crate) struct SpawnAgent(pub(crate) Arc<DelegationSettings>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Clear task description for the sub-agent. Be specific about what files to look at and
    /// what to report back.
    task: String,
    /// Directory or file path to focus on, relative to the working directory. Tools for
    /// files see nothing else.
    scope: Option<String>,
    /// Max tool calls the sub-agent can make
    #[schemars(range(min = 1))]
    max_tool_calls: Option<i64>,
    /// Permission mode for sub-agent. "plan" = read-only, "auto" = can edit files. It is never
    /// freer than you are.
    mode: Option<ChildMode>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChildMode {
    Plan,
    Auto,
}

impl From<ChildMode> for Mode {
    fn from(mode: ChildMode) -> Self {
        match mode {
            ChildMode::Plan => Self::Plan,
            ChildMode::Auto => Self::Auto,
        }
    }
}

/// A task with a focus.
pub(super) struct Focused {
    pub(super) task: String,
    pub(super) scope: Option<String>,
    pub(super) calls: Option<NonZeroU64>,
    pub(super) mode: Option<Mode>,
}

impl Focused {
    /// Makes an order of it.
    pub(super) fn order(
        self,
        settings: &DelegationSettings,
        host: &dyn Host,
    ) -> Result<Order, ToolError> {
        let Self { task: wanted, scope, calls, mode } = self;
        let task = task(wanted)?;
        let asked = Allowance { calls, ..Allowance::default() };
        let allowance = Allowance { calls: settings.calls(calls), ..settings.blocking };
        let authority = Wish {
            mode: mode.or(settings.child_mode),
            access: Access::Inherit,
            scope: scope.as_ref().map(|scope| host.workdir().join(scope)),
            ..Wish::default()
        };
        check_scope(&authority, host)?;
        let workdir = host.workdir().display().to_string();
        let instructions = (settings.style == Style::Opta)
            .then(|| instructions(&task, &workdir, scope.as_deref(), allowance.calls));
        let order = Order {
            name: "task".to_owned(),
            task,
            instructions,
            limits: Limits { authority, allowance, asked, ..Limits::default() },
            ..Order::default()
        };
        Ok(order)
    }

    /// Says what of the calls it asked for it does not get.
    pub(super) fn clamp(&self, settings: &DelegationSettings) -> Option<Clamp> {
        let (asked, most) = (self.calls?, settings.most_calls?);
        let clamp = || Clamp {
            what: "tool calls".to_owned(),
            asked: asked.to_string(),
            given: most.to_string(),
        };
        (asked > most).then(clamp)
    }
}

/// Refuses a scope that is not the agent's to give, or that is not there.
fn check_scope(authority: &Wish, host: &dyn Host) -> Result<(), ToolError> {
    let Some(scope) = &authority.scope else { return Ok(()) };
    host.grant().narrow(host.agent().clone(), authority)?;
    if scope.exists() {
        return Ok(());
    }
    let scope = scope.display();
    Err(ToolError(format!(
        "there is no `{scope}`: `scope` is a directory or file that is there; leave it out to \
         look everywhere"
    )))
}

/// Returns what a child with a focus is told.
fn instructions(
    task: &str,
    directory: &str,
    scope: Option<&str>,
    calls: Option<NonZeroU64>,
) -> String {
    let focus = scope.map(|scope| format!(" Look only at {scope}.")).unwrap_or_default();
    let calls = calls.map_or_else(
        || "Use as few tool calls as you can.".to_owned(),
        |calls| format!("You have {calls} tool calls."),
    );
    format!(
        "You are a sub-agent with one task: {task}\n\nYou work in {directory}.{focus} {calls} You \
         are not to ask anybody anything: where something is not clear, decide, and say what you \
         assumed. Be concise, and end with a summary of what you found, with the files you read \
         and changed."
    )
}

impl TypedTool for SpawnAgent {
    type Args = Args;
    const NAME: &'static str = "spawn_agent";
    const EFFECT: Effect = Effect::Delegate;

    fn description(&self) -> String {
        "Spawn a sub-agent to perform a focused task independently. The sub-agent \
                        has its own context window and returns a result summary. Use for: parallel \
                        investigation, focused code search, isolated analysis. Do NOT use for \
                        trivial tasks a single tool call can handle."
            .into()
    }

    fn refine(&self, parameters: &mut Value) {
        let description = parameters.pointer_mut("/properties/max_tool_calls/description");
        if let (Some(Value::String(text)), Some(calls)) = (description, self.0.calls(None)) {
            text.push_str(&format!(" (default: {calls})"));
        }
    }

    fn offer(&self, spec: Arc<ToolSpec>, _: &Order, grant: &Grant) -> Option<Arc<ToolSpec>> {
        self.0.offers_focused(grant).then_some(spec)
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.task, 54)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let delegation = delegation(host)?;
        let calls = positive(args.max_tool_calls)?;
        let (scope, mode) = (args.scope, args.mode.map(Mode::from));
        let focused = Focused { task: args.task, scope, calls, mode };
        let clamp = focused.clamp(&self.0);
        let order = focused.order(&self.0, host)?;
        let told = blocking::run(&self.0, delegation, order, None).await;
        match clamp {
            None => told,
            Some(clamp) => told
                .map(|text| format!("{text}\nNote: {clamp}"))
                .map_err(|error| ToolError(format!("{error}\nNote: {clamp}"))),
        }
    }
}

impl DelegationSettings {
    /// Returns how many calls a child gets that is to have so many.
    fn calls(&self, asked: Option<NonZeroU64>) -> Option<NonZeroU64> {
        let asked = asked.or(self.blocking.calls);
        [asked, self.most_calls].into_iter().flatten().min()
    }

    /// In its own preset, an agent that only looks has nobody look for it.
    pub(super) fn offers_focused(&self, grant: &Grant) -> bool {
        self.style != Style::Opta || grant.mode() != Mode::Plan
    }
}

fn positive(calls: Option<i64>) -> Result<Option<NonZeroU64>, ToolError> {
    let Some(calls) = calls else { return Ok(None) };
    match u64::try_from(calls).ok().and_then(NonZeroU64::new) {
        Some(calls) => Ok(Some(calls)),
        None => Err(ToolError("maxToolCalls must be positive".to_owned())),
    }
}
