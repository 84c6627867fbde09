//! The model and the tools that do what a case says.

use std::{
    collections::HashSet,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    Access, AgentPath, CallId, Context, Delegation, Delivery, Delta, Effect, Held, Host, Message,
    ModelError, Note, OnError, Order, Part, Peers, Plan, Receipt, Refusal, Report, Request, State,
    Status, Stay, StopReason, Task, Tool, ToolCall, ToolChoice, ToolError, ToolSpec, Trouble,
    Usage, WaitFor, When, Wish,
};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::case::{Act, Case, Child, IDLE, Knows, Limits, Turn};
use crate::support::{Talks, delegation};

/// Stands before the number of a life in what an agent is told.
const LIFE: &str = "life#";
/// The tools that do what a case says.
const DELEGATES: &str = "delegate";
const TELLS: &str = "tell";
const CHANGES: &str = "change";

/// What is seen while a tree runs.
#[derive(Default)]
pub(super) struct Seen {
    /// What should not be.
    pub(super) wrong: Mutex<Vec<String>>,
    /// The results that parents took without being told.
    pub(super) taken: Mutex<Vec<Arc<Receipt>>>,
    /// What the runtime says of the tree and the notes, when the root looks at last.
    pub(super) last_look: Mutex<Option<(Vec<Status>, Vec<Note>)>>,
    stumbled: Mutex<HashSet<(AgentPath, u64)>>,
}

impl Seen {
    fn wrong(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }

    fn took(&self, host: &dyn Host, report: &Report) {
        if report.path.parent().as_ref() == Some(host.agent()) {
            self.taken.lock().unwrap().push(Arc::clone(&report.receipt));
        }
    }
}

/// Tells somebody to lead a life.
pub(super) fn told(life: usize) -> String {
    format!("{LIFE}{life};")
}

/// Returns the life an agent leads, and which turn of it comes next.
fn place(messages: &[Arc<Message>]) -> (usize, usize) {
    let number = |message: &Arc<Message>| {
        let Message::User { .. } = &**message else { return None };
        let text = message.text();
        let (_, rest) = text.split_once(LIFE)?;
        rest.split(';').next()?.parse().ok()
    };
    let found = messages.iter().enumerate().rev().find_map(|(at, it)| Some((at, number(it)?)));
    let (at, life) = found.unwrap_or_default();
    let is_own = |message: &&Arc<Message>| matches!(***message, Message::Assistant { .. });
    (life, messages[at..].iter().filter(is_own).count())
}

/// A model that will not be sent a history that is not valid, and does what the case says.
pub(super) fn model(case: Arc<Case>, seen: Arc<Seen>) -> Talks {
    Talks::new(move |request| {
        if let Err(why) = check(request.messages) {
            seen.wrong(format!("{}: {why}: {:#?}", request.agent, request.messages));
        }
        let (life, number) = place(request.messages);
        let Some(turn) = case.turn(life, number) else { return says("hm", []) };
        let hm = Ok(Delta::Text("hm".to_owned()));
        let broken = |why| Err(ModelError::new(Trouble::Broken, why));
        match turn {
            _ if request.choice == ToolChoice::None => says("in short", []),
            Turn::Call(acts) => says("hm", calls(&request, (life, number), acts)),
            Turn::Stumble => {
                let place = (request.agent.clone(), request.turn);
                match seen.stumbled.lock().unwrap().insert(place) {
                    true => stream::iter([hm, broken("stumbled")]).boxed(),
                    false => says("hm", []),
                }
            }
            Turn::Break => stream::iter([hm, broken("broke")]).boxed(),
            Turn::Hang => stream::iter([hm]).chain(stream::pending()).boxed(),
            Turn::Panic => panic!("the adapter panics"),
        }
    })
}

/// Makes the calls of a turn.
fn calls(request: &Request<'_>, (life, number): (usize, usize), acts: &[Act]) -> Vec<ToolCall> {
    let call = |(place, act): (usize, &Act)| {
        let own = json!({ "life": life, "turn": number, "act": place });
        let (name, arguments) = match act {
            Act::Ask => ("ask_user", json!({ "question": "?" })),
            Act::Look => ("list_dir", json!({ "path": "src" })),
            act if is_delegation(act) => (DELEGATES, own),
            Act::Change => (CHANGES, own),
            _ => (TELLS, own),
        };
        let id = format!("{}-{life}-{number}-{place}", request.turn).into();
        ToolCall { id, name: name.to_owned(), arguments, native: None }
    };
    acts.iter().enumerate().map(call).collect()
}

fn is_delegation(act: &Act) -> bool {
    match act {
        Act::Start(_) | Act::Plan { .. } | Act::Send { .. } | Act::Cancel(_) | Act::Status(_) => {
            true
        }
        Act::Wait { .. } | Act::Probe => true,
        Act::Write { .. } | Act::Ask | Act::Change | Act::Look | Act::Note(_) => false,
        Act::Linger(_) | Act::Hold(_) | Act::Panic => false,
    }
}

fn says(
    text: &str,
    calls: impl IntoIterator<Item = ToolCall>,
) -> stream::BoxStream<'static, Result<Delta, ModelError>> {
    let usage = Usage { input: 20, output: 5, ..Usage::default() };
    let parts = [Part::text(text)].into_iter().chain(calls.into_iter().map(Part::Call));
    let deltas = [Delta::Text(text.to_owned())].into_iter();
    let deltas = deltas.chain(parts.map(Delta::Part));
    let deltas = deltas.chain([Delta::Usage(usage), Delta::Stop(StopReason::Done)]);
    let deltas: Vec<_> = deltas.map(Ok).collect();
    let pause = Duration::from_micros(300);
    // Others go on in between.
    stream::iter(deltas).then(move |delta| sleep(pause).map(|()| delta)).boxed()
}

/// Every call has its result, right after it and in order, and it is the model's turn.
fn check(messages: &[Arc<Message>]) -> Result<(), &'static str> {
    let mut open: Vec<&CallId> = Vec::new();
    for message in messages {
        match &**message {
            Message::Tools { results } => {
                if !results.iter().map(|result| &result.call).eq(open) {
                    return Err("results that do not fit the calls");
                }
                open = Vec::new();
            }
            Message::User { .. } | Message::Assistant { .. } => {
                if !open.is_empty() {
                    return Err("a call without a result");
                }
                open = message.calls().map(|call| &call.id).collect();
            }
        }
    }
    let last = messages.last().map(|message| &**message);
    match last {
        Some(Message::User { .. } | Message::Tools { .. }) if open.is_empty() => Ok(()),
        _ => Err("not the model's turn"),
    }
}

/// A tool that does what the case says.
struct Acts {
    spec: Arc<ToolSpec>,
    case: Arc<Case>,
    seen: Arc<Seen>,
}

/// Returns the tools.
pub(super) fn tools(case: &Arc<Case>, seen: &Arc<Seen>) -> Vec<Arc<dyn Tool>> {
    let tool = |(name, effect): (&str, Effect)| -> Arc<dyn Tool> {
        let (name, description) = (name.to_owned(), String::new());
        let parameters = json!({ "type": "object" });
        let spec = Arc::new(ToolSpec { name, description, parameters, effect });
        Arc::new(Acts { spec, case: Arc::clone(case), seen: Arc::clone(seen) })
    };
    let kinds = [(DELEGATES, Effect::Delegate), (TELLS, Effect::Tell), (CHANGES, Effect::Write)];
    kinds.map(tool).to_vec()
}

impl Tool for Acts {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn summary(&self, arguments: &Value) -> String {
        arguments.to_string()
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        let number = |name: &str| arguments[name].as_u64().unwrap() as usize;
        let (life, turn, act) = (number("life"), number("turn"), number("act"));
        Box::pin(async move {
            let Some(Turn::Call(acts)) = self.case.turn(life, turn) else { unreachable!() };
            if host.agent().depth() > usize::from(self.case.limits.depth) {
                self.seen.wrong(format!("`{}` is too deep", host.agent()));
            }
            let actor = Actor { host, seen: &self.seen, limits: &self.case.limits, life };
            actor.act(&acts[act]).await?;
            Ok("acted".to_owned())
        })
    }
}

/// An agent that acts.
struct Actor<'a> {
    host: &'a dyn Host,
    seen: &'a Seen,
    limits: &'a Limits,
    life: usize,
}

impl Actor<'_> {
    async fn act(&self, act: &Act) -> Result<(), ToolError> {
        match act {
            Act::Write { to, life } => self.write(*to, *life).await,
            Act::Note(key) => {
                let value = key.is_multiple_of(2).then(|| self.host.agent().to_string());
                self.host.notes().write(format!("key{}", key / 2), value).await.map(drop)
            }
            Act::Linger(millis) => {
                sleep(Duration::from_millis(*millis)).await;
                Ok(())
            }
            Act::Hold(millis) => {
                self.host.hold(Box::new(Slow(Duration::from_millis(*millis))));
                Ok(())
            }
            Act::Panic => panic!("the tool panics"),
            Act::Ask | Act::Change | Act::Look => Ok(()),
            act => self.delegate(delegation(self.host)?, act).await,
        }
    }

    /// Whoever is told by this one leads a later life, so that it all ends.
    fn later(&self, life: usize) -> String {
        told(self.life + life)
    }

    async fn write(&self, to: usize, life: usize) -> Result<(), ToolError> {
        let comms = self.host.comms().ok_or_else(|| ToolError("nobody".to_owned()))?;
        let peers = comms.peers();
        let Some(peer) = peers.get(to % peers.len().max(1)) else { return Ok(()) };
        Ok(comms.write(peer.path.as_str(), self.later(life), When::Queue).await?)
    }

    async fn delegate(&self, engine: &dyn Delegation, act: &Act) -> Result<(), ToolError> {
        let below = engine.list();
        let name = |at: usize| below.get(at % below.len().max(1)).map(|it| it.path.to_string());
        match act {
            Act::Start(child) => self.start(engine, child).await?,
            Act::Plan { lives, is_chain, at_once } => {
                let tasks = lives.iter().enumerate().map(|(place, life)| {
                    let order = Order { name: "task".to_owned(), ..self.order(*life) };
                    let needs = if *is_chain && place > 0 { vec![place - 1] } else { Vec::new() };
                    Task { order, needs }
                });
                let (goal, tasks) = ("all".to_owned(), tasks.collect());
                let on_error = if *is_chain { OnError::Stop } else { OnError::GoOn };
                let ends = engine.carry_out(Plan { goal, tasks, at_once: *at_once, on_error });
                assert_eq!(ends.await?.len(), lives.len());
            }
            Act::Send { to, life, when } => {
                let Some(name) = name(*to) else { return Ok(()) };
                engine.send(&name, self.later(*life), *when).await?;
            }
            Act::Cancel(at) => {
                let Some(name) = name(*at) else { return Ok(()) };
                engine.cancel(&name).await?;
                self.took(&engine.status(&name)?);
            }
            Act::Status(at) => {
                let Some(name) = name(*at) else { return Ok(()) };
                self.took(&engine.status(&name)?);
            }
            Act::Wait { from, is_any, patience } => {
                let names: Vec<_> =
                    below.iter().skip(*from % 3).map(|it| it.path.to_string()).collect();
                let whose = if *is_any { WaitFor::Any } else { WaitFor::All };
                let patience = patience.map(Duration::from_millis);
                let all = engine.wait_for(&names, whose, patience).await?;
                all.iter().for_each(|status| self.took(status));
            }
            _ => self.probe(engine).await?,
        }
        Ok(())
    }

    fn took(&self, status: &Status) {
        status.report.iter().for_each(|report| self.seen.took(self.host, report));
    }

    fn order(&self, life: usize) -> Order {
        Order { name: "child".to_owned(), task: self.later(life), ..Order::default() }
    }

    async fn start(&self, engine: &dyn Delegation, child: &Child) -> Result<(), ToolError> {
        let few = NonZeroUsize::new(2).unwrap();
        let context = match child.knows {
            Knows::Nothing => Context::Fresh,
            Knows::Quote => Context::Quote { last: few },
            Knows::All => Context::Fork,
            Knows::Last => Context::Cut { last: few },
            Knows::Summary => Context::Summary,
        };
        let access = match child.is_blind {
            true => Access::DenyList { tools: ["list_dir".to_owned()].into() },
            false => Access::Inherit,
        };
        let authority = Wish { access, mode: child.mode, ..Wish::default() };
        let limits =
            adjutant_core::Limits { authority, allowance: child.allowance, ..Default::default() };
        let (stay, peers) = match child.is_host {
            true => (Stay::UntilTold, Peers::Family),
            false => (Stay::UntilDone, Peers::Parent),
        };
        let peers = if child.recalls { Peers::Nobody } else { peers };
        let delivery = if child.is_awaited { Delivery::Awaited } else { Delivery::Pushed };
        let model = child.lacks_model.then(|| "none".to_owned());
        let order =
            Order { context, limits, stay, peers, delivery, model, ..self.order(child.life) };
        if child.recalls && engine.recall(&order).await.is_some() {
            return Ok(());
        }
        let started = engine.start(order).await?;
        if child.is_awaited {
            let report = engine.wait(&started.id.to_string()).await?;
            assert_eq!(report.path, started.path);
        }
        Ok(())
    }

    /// Looks at the tree when all is done, and sees whether every place is free.
    async fn probe(&self, engine: &dyn Delegation) -> Result<(), ToolError> {
        let below = engine.list();
        let look = (below.clone(), self.host.notes().all());
        *self.seen.last_look.lock().unwrap() = Some(look);
        let own = self.host.agent();
        let is_at_work = |it: &&Status| matches!(it.state, State::Running | State::Waiting);
        let in_tree = below.iter().filter(is_at_work).count();
        let is_child = |it: &&Status| it.path.parent().as_ref() == Some(own);
        let in_family = below.iter().filter(is_at_work).filter(is_child).count();
        let free = (self.limits.agents - in_tree).min(self.limits.children - in_family);
        for _ in 0..free {
            let (name, task) = ("probe".to_owned(), told(IDLE));
            let order = Order { name, task, delivery: Delivery::Pushed, ..Order::default() };
            match engine.start(order).await {
                Ok(_) | Err(Refusal::Exhausted(_)) => {}
                Err(refusal) => self.seen.wrong(format!("a place is not free: {refusal}")),
            }
        }
        Ok(())
    }
}

/// Something that takes a while to end.
struct Slow(Duration);

impl Held for Slow {
    fn what(&self) -> String {
        "slow thing".to_owned()
    }

    fn is_over(&mut self) -> bool {
        false
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(sleep(self.0).map(Ok))
    }
}
