//! Starts one agent below another. Every delegation tool ends here, and so does the
//! start of a root.

use std::{
    panic::AssertUnwindSafe,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    Access, AgentId, AgentPath, Allowance, Bench, CallId, Clamp, Context, Delegation, Delivery,
    EventKind, Grant, History, Isolation, Measure, Message, Model, Order, Origin, Outcome, Purse,
    Receipt, Refusal, Report, Started, State, Status, When,
};
use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    Stay,
    agent::Agent,
    answer::Answer,
    choice,
    clock::Clock,
    custody::Custody,
    dispatch::message_of,
    ground::Ground,
    hooks::FailedHooks,
    host::CallHost,
    mailbox::{Letter, NotTaken},
    roster::Entry,
    seat::{Family, Identity, Seat},
    session::{Shared, Written},
    toolset::ToolSet,
};

/// What stands in for the results of the calls a fork was born in.
const FORKED: &str =
    "[you are a fork of the agent that made this call; it is not yours to wait for]";

impl Delegation for CallHost {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Started, Refusal>> {
        Box::pin(start(self, order))
    }

    fn wait<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Report, Refusal>> {
        Box::pin(async {
            let child = self.below(agent)?;
            let clock = &self.seat.entry.clock;
            let report = self.waiting(async {
                tokio::select! {
                    report = child.ended() => report,
                    () = clock.follow(&child.clock) => child.ended().await,
                }
            });
            let report = report.await;
            self.claim(&child);
            Ok(report)
        })
    }

    fn cancel<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<State, Refusal>> {
        Box::pin(async {
            let child = self.below(agent)?;
            let before = child.state();
            if before.is_final() {
                let path = child.identity.path.clone();
                return Err(Refusal::Ended { path, state: before });
            }
            child.cancel.cancel();
            self.waiting(child.ended()).await;
            self.claim(&child);
            Ok(before)
        })
    }

    fn status(&self, agent: &str) -> Result<Status, Refusal> {
        let child = self.below(agent)?;
        let status = child.status();
        if status.report.is_some() {
            self.claim(&child);
        }
        Ok(status)
    }

    fn list(&self) -> Vec<Status> {
        let below = self.seat.shared.roster.below(self.seat.path());
        below.iter().map(|entry| entry.status()).collect()
    }

    fn send<'a>(
        &'a self,
        agent: &'a str,
        text: String,
        when: When,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            let child = self.below(agent)?;
            let from = Some(self.seat.path().clone());
            self.seat.shared.mail(&child, from, text, when).await
        })
    }
}

impl CallHost {
    /// Claims a child's result. Whoever stands further up looks at it without taking the
    /// news from the child's parent.
    fn claim(&self, child: &Entry) {
        if child.identity.path.parent().as_ref() == Some(self.seat.path()) {
            child.claim();
        }
    }

    fn below(&self, agent: &str) -> Result<Arc<Entry>, Refusal> {
        let entry = self.seat.shared.roster.find_named(agent);
        let entry = entry.filter(|entry| entry.identity.path.is_below(self.seat.path()));
        entry.ok_or_else(|| Refusal::NotBelow(agent.to_owned()))
    }
}

/// Starts a child. Everything it holds is narrowed from what its parent holds.
async fn start(host: &CallHost, order: Order) -> Result<Started, Refusal> {
    let above = &host.seat;
    let shared = &above.shared;
    let _door = match order.isolation {
        Isolation::Shared => None,
        // The semaphore is never closed.
        Isolation::Worktree => above.family.door.acquire().await.ok(),
    };
    check(above, &order)?;
    let model = choice::model(above, &order)?;
    let places = Places::take(above)?;
    let path = above.path().child(&order.name, above.family.next());
    let allowance = order.limits.allowance;
    above.entry.purse.check()?;
    let purse = above.entry.purse.child(path.clone(), allowance);
    let answer = owed(&order, &purse, &*model)?;
    let Ground { grant, mut clamps, workdir, bench } =
        Ground::prepare(above, &path, &order).await?;
    clamps.extend(clamped(above, allowance));
    let (history, tools) = match order.context {
        Context::Fresh => (History::default(), Arc::new(ToolSet::of(&shared.tools, &grant))),
        Context::Fork => {
            let mut history = host.history.clone();
            history.close(FORKED);
            // The same list as the parent's, so that the provider's cache holds; what the fork
            // may not use is refused when it is called.
            (history, Arc::clone(&above.tools))
        }
    };
    let birth = Birth {
        shared: Arc::clone(shared),
        path,
        call: Some(host.call.clone()),
        model,
        instructions: match &order.instructions {
            Some(instructions) => instructions.as_str().into(),
            None => Arc::clone(&above.instructions),
        },
        answer,
        tools,
        grant,
        purse,
        clock: Clock::start(least(allowance.time(), above.entry.clock.left())),
        cancel: above.work.child_token(),
        workdir,
        bench,
        places,
        parent: Some(Arc::clone(above)),
    };
    Ok(launch(birth, order, history, clamps, Stay::UntilDone))
}

fn check(above: &Seat, order: &Order) -> Result<(), Refusal> {
    if above.work.is_cancelled() {
        return Err(Refusal::Stopping);
    }
    if order.task.trim().is_empty() {
        return Err(Refusal::NoTask);
    }
    check_names(above, &order.limits.authority.access)
}

/// A tool list with a name nobody knows is a mistake, not a wish.
fn check_names(above: &Seat, access: &Access) -> Result<(), Refusal> {
    if access.names().next().is_none() {
        return Ok(());
    }
    let specs: Vec<_> = above.shared.tools.iter().map(|tool| tool.spec()).collect();
    let unknown = access.names().find(|name| specs.iter().all(|spec| spec.name != *name));
    match unknown {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
            Err(Refusal::NoTool { name: name.to_owned(), known: known.join(", ") })
        }
    }
}

/// Says where a child asks for more than its parent has left.
fn clamped(above: &Seat, asked: Allowance) -> impl Iterator<Item = Clamp> {
    let Entry { purse, clock, .. } = &*above.entry;
    let millis = |left: Duration| u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    let budgets = [
        ("tokens", asked.tokens, purse.left(Measure::Tokens)),
        ("micro-dollars", asked.micros, purse.left(Measure::Money)),
        ("milliseconds", asked.millis, clock.left().map(millis)),
    ];
    budgets.into_iter().filter_map(|(what, asked, left)| {
        let (asked, left) = (asked?.get(), left?);
        let clamp =
            || Clamp { what: what.to_owned(), asked: asked.to_string(), given: left.to_string() };
        (asked > left).then(clamp)
    })
}

fn least<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

/// An agent's places among those at work, given back by drop.
#[derive(Default)]
pub(crate) struct Places {
    _held: Vec<OwnedSemaphorePermit>,
}

impl Places {
    fn take(above: &Seat) -> Result<Self, Refusal> {
        let settings = &above.shared.settings;
        let family = Arc::clone(&above.family.places).try_acquire_owned();
        let limit = settings.max_children_per_agent;
        let family = family.map_err(|_| Refusal::TooManyChildren { limit })?;
        let tree = Arc::clone(&above.shared.agents).try_acquire_owned();
        let limit = settings.max_concurrent_agents;
        let tree = tree.map_err(|_| Refusal::TreeFull { limit })?;
        Ok(Self { _held: vec![family, tree] })
    }
}

/// What an agent is given when it comes to be.
pub(crate) struct Birth {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: AgentPath,
    pub(crate) call: Option<CallId>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) instructions: Arc<str>,
    pub(crate) answer: Option<Answer>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) grant: Grant,
    pub(crate) purse: Arc<Purse>,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancellationToken,
    pub(crate) workdir: Arc<Path>,
    pub(crate) bench: Option<Box<dyn Bench>>,
    pub(crate) places: Places,
    pub(crate) parent: Option<Arc<Seat>>,
}

/// Returns what the answer to an order has to be, if it has to be anything, and checks that
/// the model can be held to it all.
pub(crate) fn owed(
    order: &Order,
    purse: &Purse,
    model: &dyn Model,
) -> Result<Option<Answer>, Refusal> {
    if purse.left(Measure::Money).is_some() && model.info().price.is_none() {
        return Err(Refusal::NoPrice(model.info().name.to_string()));
    }
    order.schema.as_ref().map(Answer::owed).transpose()
}

/// Puts an agent to work in a task of its own: the root and every other.
pub(crate) fn launch(
    birth: Birth,
    order: Order,
    mut history: History,
    clamped: Vec<Clamp>,
    stay: Stay,
) -> Started {
    let Birth { shared, path, call, model, instructions, answer, tools, .. } = birth;
    let Birth { grant, purse, .. } = birth;
    let Birth { clock, cancel, workdir, bench, places, parent, .. } = birth;
    let system = match &answer {
        Some(answer) => answer.ask(&instructions),
        None => Arc::clone(&instructions),
    };
    let identity = Arc::new(Identity { path, id: AgentId::from(Uuid::now_v7()), call });
    let work = cancel.child_token();
    let entry = Entry::new(identity, order.delivery, cancel, purse, Arc::new(clock));
    let entry = Arc::new(entry);
    if let Some(parent) = &parent {
        parent.custody.adopt(Arc::clone(&entry));
    }
    let (custody, family) =
        (Custody::default(), Family::of(shared.settings.max_children_per_agent));
    let seat = Seat {
        shared,
        entry,
        model,
        instructions,
        system,
        answer,
        tools,
        grant,
        work,
        custody,
        workdir,
        family,
        bench: Mutex::new(bench),
        failed_hooks: FailedHooks::default(),
    };
    let origin = if parent.is_some() { Origin::Parent } else { Origin::Person };
    let task = Arc::new(Message::user(origin, &order.task));
    let begun = seat.begin(order, &clamped, history.messages().len(), Arc::clone(&task));
    history.push(task);
    // Known to others from here on, so that nothing reaches the journal before its beginning.
    seat.shared.roster.enter(Arc::clone(&seat.entry));
    let started = Started {
        id: seat.entry.identity.id,
        path: seat.path().clone(),
        model: Arc::clone(&seat.model.info().name),
    };
    let agent = Agent::new(Arc::new(seat), history, stay);
    tokio::spawn(live(agent, begun, Life { clamped, places, parent }));
    started
}

impl Seat {
    /// Writes the beginning of the agent. This is done by whoever starts it and not in
    /// its own task, so that siblings begin in the order in which they were called for.
    fn begin(
        &self,
        order: Order,
        clamped: &[Clamp],
        inherited: usize,
        task: Arc<Message>,
    ) -> Written {
        let started = EventKind::Started {
            order: Arc::new(order),
            model: Arc::clone(&self.model.info().name),
            mode: self.grant.mode(),
            tools: self.tools.names(),
            clamped: clamped.to_vec(),
            inherited,
        };
        let said = EventKind::Said { message: task };
        self.shared.write(&self.entry.identity, vec![started, said])
    }
}

struct Life {
    clamped: Vec<Clamp>,
    places: Places,
    parent: Option<Arc<Seat>>,
}

/// An agent's whole life, up to `Finished`.
async fn live(mut agent: Agent, begun: Written, life: Life) {
    let Life { clamped, places, parent } = life;
    let seat = Arc::clone(&agent.seat);
    let run = AssertUnwindSafe(agent.run(begun)).catch_unwind().await;
    let outcome = run.unwrap_or_else(|panic| agent.broken(message_of(&*panic)));
    let receipt = Receipt { clamped, ..agent.receipt };
    let report = wind_up(&seat, outcome, receipt).await;
    // The places are free before anybody hears of the end, so that who hears can use them.
    drop(places);
    seat.entry.finish(report);
    seat.shared.roster.retire(seat.entry.identity.id);
    if let (Some(parent), Delivery::Pushed) = (parent, seat.entry.delivery) {
        // A parent that has left needs no news.
        let _ = parent.entry.mailbox.post(Letter::Ended(Arc::clone(&seat.entry)));
    }
}

/// Sees everything ended that the agent started, then records that it is gone.
async fn wind_up(seat: &Arc<Seat>, outcome: Outcome, receipt: Receipt) -> Report {
    let Seat { entry, shared, custody, .. } = &**seat;
    entry.mailbox.close();
    entry.cancel.cancel();
    let mut uncontained = custody.empty(shared.settings.containment).await;
    seat.hook_end(&outcome).await;
    uncontained.extend(custody.empty(shared.settings.containment).await);
    let spending = entry.purse.spending();
    let mut receipt = Receipt {
        calls: spending.calls,
        usage: spending.own,
        tokens: spending.tokens,
        micros: spending.micros,
        millis: entry.millis(),
        unfinished: custody.unfinished(),
        uncontained,
        failed_hooks: seat.failed_hooks.take(),
        ..receipt
    };
    seat.hand_over(&outcome, &mut receipt).await;
    let (outcome, receipt) = (Arc::new(outcome), Arc::new(receipt));
    let (kept, facts) = (Arc::clone(&outcome), Arc::clone(&receipt));
    // Whoever waits learns the outcome even if the journal cannot keep it.
    let recorded = seat.record(vec![EventKind::Finished { outcome: kept, receipt: facts }]).await;
    if seat.path().depth() == 0 {
        shared.lost.send_replace(recorded.err());
    }
    Report { id: entry.identity.id, path: seat.path().clone(), outcome, receipt }
}

impl Shared {
    /// Puts a message into an agent's mailbox, recorded first.
    pub(crate) async fn mail(
        &self,
        to: &Entry,
        from: Option<AgentPath>,
        text: String,
        when: When,
    ) -> Result<(), Refusal> {
        let mailed = EventKind::Mailed { from: from.clone(), text: text.clone(), when };
        let letter = Letter::Message { from, text, when };
        let written = to.mailbox.post_with(letter, || self.write(&to.identity, vec![mailed]));
        let path = || to.identity.path.clone();
        let written = written.map_err(|why| match why {
            NotTaken::Closed => Refusal::Ended { path: path(), state: to.state() },
            NotTaken::Full => Refusal::MailboxFull(path()),
        })?;
        written.await.map(|_| ()).map_err(|error| Refusal::Broken(error.to_string()))
    }
}
