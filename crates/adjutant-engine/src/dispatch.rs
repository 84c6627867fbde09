//! Runs what a model called: together, bounded, with the results in order.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use adjutant_core::{
    Answer, Ask, CallId, Calls, Effect, EventKind, Exhausted, History, JournalError, Judgement,
    Message, Refusal, StopReason, Target, Tool, ToolCall, ToolError, ToolResult, ToolSpec, Touch,
    Verdict,
};
use futures_util::{FutureExt as _, future::join_all};
use serde_json::Value;
use tokio::{task::unconstrained, time::timeout};

use crate::{about::About, hooks::Hooked, host::CallHost, repair::repair, seat::Seat};

/// The longest result a model is given.
const LONGEST_RESULT: usize = 256 * 1024;

/// What is to become of one call.
pub(crate) struct Plan {
    call: CallId,
    next: Next,
}

impl Plan {
    /// Reports whether other agents are started by it.
    fn delegates(&self) -> bool {
        match &self.next {
            Next::Run(job) | Next::Ask(job, _) => job.tool.spec().effect == Effect::Delegate,
            Next::Refuse(_) => false,
        }
    }
}

enum Next {
    Run(Job),
    Ask(Job, Box<Question>),
    Refuse(String),
}

/// A call that may run.
struct Job {
    tool: Arc<dyn Tool>,
    arguments: Value,
    touches: Vec<Touch>,
    intent: EventKind,
}

/// A call a person is asked about.
struct Question {
    call: ToolCall,
    judgement: Judgement,
    /// What of it is asked about.
    about: Arc<About>,
}

/// What is to become of the calls of one message.
#[derive(Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    /// The limit on calls, if it was reached on the way.
    pub(crate) exhausted: Option<Exhausted>,
}

impl Plans {
    /// Judges the calls of a message.
    pub(crate) fn make(seat: &Seat, message: &Message, stop: StopReason) -> Self {
        let mut plans = Self::default();
        for call in message.calls() {
            let next = match seat.entry.purse.take_call() {
                Ok(()) => {
                    let judged = catch_unwind(AssertUnwindSafe(|| judge(seat, call, stop)));
                    judged.unwrap_or_else(|panic| Err(broken(&*panic))).unwrap_or_else(Next::Refuse)
                }
                Err(exhausted) => {
                    let refusal = Next::Refuse(format!("not run: {exhausted}"));
                    plans.exhausted = Some(exhausted);
                    refusal
                }
            };
            plans.plans.push(Plan { call: call.id.clone(), next });
        }
        plans
    }

    /// Returns the intents of the calls that run without asking. They are recorded
    /// with the message, before anything is done.
    pub(crate) fn intents(&self) -> impl Iterator<Item = EventKind> {
        self.plans.iter().filter_map(|plan| match &plan.next {
            Next::Run(job) => Some(job.intent.clone()),
            Next::Ask(..) | Next::Refuse(_) => None,
        })
    }

    /// Reports whether a call may do more than look.
    pub(crate) fn have_effects(&self) -> bool {
        self.plans.iter().any(|plan| match &plan.next {
            Next::Run(job) => job.tool.spec().effect != Effect::Read,
            Next::Ask(..) => true,
            Next::Refuse(_) => false,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Runs the calls together. The results have the order of the calls.
    pub(crate) async fn run(
        self,
        seat: &Arc<Seat>,
        history: &History,
    ) -> Result<Vec<ToolResult>, JournalError> {
        let turn = match seat.order.manner.calls {
            Calls::Together => None,
            Calls::OneByOne => Some(tokio::sync::Mutex::new(())),
        };
        let runs = self.plans.into_iter().map(|plan| async {
            let _turn = match (&turn, plan.delegates()) {
                // In the order in which they came, which is that of the calls.
                (Some(turn), true) => Some(turn.lock().await),
                _ => None,
            };
            let result = follow(seat, history, plan).await;
            // The agent is about to stop, so the other calls are told.
            result.inspect_err(|_| seat.work.cancel())
        });
        // Not made to give way half through: however many, they begin in their order.
        unconstrained(join_all(runs)).await.into_iter().collect()
    }
}

fn judge(seat: &Seat, call: &ToolCall, stop: StopReason) -> Result<Next, String> {
    let Some((tool, spec)) = seat.tools.find(&call.name) else {
        let is_below = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            spec.name == call.name && spec.effect == Effect::Delegate
        };
        if !seat.grant.may_delegate() && seat.shared.tools.iter().any(is_below) {
            return Err(Refusal::TooDeep { limit: seat.path().depth() }.to_string());
        }
        let names = seat.tools.names().join(", ");
        return Err(format!("there is no tool named `{}`; there are: {names}", call.name));
    };
    // Half a command may be a whole one with another meaning: never repair what was cut off.
    if stop == StopReason::Length && call.arguments.is_string() {
        return Err("not run: the call was cut off by the limit on the answer's length".to_owned());
    }
    let arguments = repair(&call.arguments, &spec.parameters)?;
    tool.check(&arguments).map_err(|ToolError(why)| why)?;
    let touches = tool.touches(&arguments, &seat.workdir);
    let judgement = seat.grant.judge(spec, &touches);
    let intent = EventKind::Called {
        call_id: call.id.clone(),
        tool: call.name.clone(),
        summary: tool.summary(&arguments),
    };
    let asked: Vec<_> = match judgement.verdict {
        Verdict::Allow => Vec::new(),
        Verdict::Ask => seat.open(spec, &touches),
        Verdict::Deny => return Err(format!("not allowed: {judgement}")),
    };
    let job = Job { tool: Arc::clone(tool), arguments, touches, intent };
    if asked.is_empty() {
        return Ok(Next::Run(job));
    }
    let (grant, tool) = (seat.grant.clone(), Arc::clone(spec));
    let about = Arc::new(About { grant, tool, touches: asked });
    Ok(Next::Ask(job, Box::new(Question { call: call.clone(), judgement, about })))
}

impl Seat {
    /// Returns what of a call is to be asked about and was not answered for good.
    fn open(&self, spec: &ToolSpec, touches: &[Touch]) -> Vec<Touch> {
        let plain = [Touch { effect: spec.effect, target: Target::Nothing }];
        let touches = if touches.is_empty() { &plain } else { touches };
        let (standing, grant) = (&self.shared.standing, &self.grant);
        let asked = grant.asked(spec, touches);
        asked.filter(|touch| !standing.covers(grant, spec, touch)).cloned().collect()
    }
}

async fn follow(
    seat: &Arc<Seat>,
    history: &History,
    plan: Plan,
) -> Result<ToolResult, JournalError> {
    let Plan { call, next } = plan;
    let mut host = CallHost::new(seat, call.clone(), history.clone());
    let job = match next {
        Next::Run(job) => Ok(job),
        Next::Ask(job, question) => permission(seat, job, *question).await?,
        Next::Refuse(why) => Err(why),
    };
    let end = match job {
        Ok(mut job) => {
            host.judged = std::mem::take(&mut job.touches);
            run(&host, job).await
        }
        Err(why) => Err(ToolError(why)),
    };
    let (facts, images) = (host.facts(), host.images());
    let result = match end {
        Ok(text) => ToolResult { call, text: bounded(text), images, failed: false, facts },
        Err(ToolError(why)) => ToolResult { facts, ..ToolResult::failure(call, bounded(why)) },
    };
    Ok(result)
}

/// Asks a person whether a call may run. The inner error is told to the model.
async fn permission(
    seat: &Seat,
    job: Job,
    question: Question,
) -> Result<Result<Job, String>, JournalError> {
    let Question { call, judgement, about } = question;
    let (id, rules) = (call.id.clone(), about.rules());
    let because = match job.tool.caution(&job.arguments) {
        Some(caution) => format!("{judgement}; {caution}"),
        None => judgement.to_string(),
    };
    let (effect, told) = (judgement.effect, because.clone());
    let ask = Ask::Permission { call, effect, because, rules };
    let About { grant, tool, touches } = &*about;
    // Another answer may be an answer to this as well; the question is withdrawn then.
    let answer = tokio::select! {
        biased;
        answer = seat.ask(&id, ask, Some(Arc::clone(&about))) => answer?,
        () = seat.shared.standing.until(grant, tool, touches) => Answer::Allow,
    };
    let why = match answer {
        Answer::Allow | Answer::AllowFromNowOn { .. } => {
            seat.record(vec![job.intent.clone()]).await?;
            return Ok(Ok(job));
        }
        Answer::Deny { reason: Some(reason) } if seat.is_silent() => {
            format!("not run: {reason} ({judgement})")
        }
        Answer::Deny { reason: Some(reason) } => format!("a person refused this: {reason}"),
        Answer::Deny { reason: None } => "a person refused this".to_owned(),
        Answer::Words { text } => format!("a person did not allow this, but said: {text}"),
        Answer::Unattended => {
            format!("not run, since nobody is there to allow it ({told}): do without it")
        }
    };
    Ok(Err(why))
}

/// Runs a call. Told to end, it has a short grace and is then dropped; what it
/// started outside is in the agent's custody.
async fn run(host: &CallHost, job: Job) -> Result<String, ToolError> {
    let seat = &host.seat;
    let Job { tool, arguments, .. } = job;
    let hooked = Hooked::new(host, &tool.spec().name, &arguments);
    let call = async {
        host.take_slot().await;
        let may_run = host.hook_before(hooked.as_ref()).await;
        // It may have waited until after the end of the work.
        if seat.work.is_cancelled() {
            return Err(ToolError("not run: stopped before it began".to_owned()));
        }
        may_run?;
        Ok(tool.call(arguments, host).await)
    };
    let mut call = std::pin::pin!(AssertUnwindSafe(call).catch_unwind());
    let end = tokio::select! {
        biased;
        end = &mut call => Some(end),
        () = seat.work.cancelled() => {
            timeout(seat.shared.settings.cancel_grace, call).await.ok()
        }
    };
    let end = match end {
        Some(Ok(end)) => end?,
        Some(Err(panic)) => Err(ToolError(broken(&*panic))),
        None => Err(ToolError(ToolResult::GIVEN_UP.to_owned())),
    };
    host.hook_after(hooked.as_ref(), &end).await;
    end
}

fn broken(panic: &(dyn Any + Send)) -> String {
    format!("the tool broke: {}", message_of(panic))
}

/// Returns what a panic said.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}

fn bounded(mut text: String) -> String {
    if text.len() > LONGEST_RESULT {
        let left_out = text.len() - LONGEST_RESULT;
        text.truncate(text.floor_char_boundary(LONGEST_RESULT));
        text.push_str(&format!("\n[{left_out} bytes left out: ask for less at a time]"));
    }
    text
}
