//! How a child comes to be. Everything it holds is narrowed from what its parent holds.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use adjutant_core::{
    Access, Allowance, Clamp, Context, History, Isolation, Limits, Measure, Model, Order, Purse,
    Refusal, Share, Started,
};

use crate::{
    ChildInstructions,
    answer::Answer,
    choice,
    clock::Clock,
    ground::Ground,
    host::CallHost,
    kit::Kit,
    life::{self, Birth},
    places::Places,
    quote,
    roster::Entry,
    seat::Seat,
    toolset::ToolSet,
};

/// What stands in for the results of the calls a fork was born in.
const FORKED: &str =
    "[you are a fork of the agent that made this call; it is not yours to wait for]";

/// Starts a child.
pub(crate) async fn start(host: &CallHost, mut order: Order) -> Result<Started, Refusal> {
    let above = &host.seat;
    let shared = &above.shared;
    let _door = match order.isolation {
        Isolation::Shared => None,
        // The semaphore is never closed.
        Isolation::Worktree => above.family.door.acquire().await.ok(),
    };
    rename(above, &mut order.limits.authority.access);
    check(above, &order)?;
    order.manner.calls = order.manner.calls.max(above.order.manner.calls);
    order.within = above.order.named().map(str::to_owned);
    let (model, chosen) = choice::model(above, &order)?;
    let places = Places::take(shared, &above.family.places)?;
    let number = order.number.unwrap_or_else(|| above.family.next());
    let path = above.path().child(&order.name, number);
    above.entry.purse.check()?;
    let mut clamped = settle_share(above, &mut order.limits);
    let allowance = order.limits.allowance;
    let purse = above.entry.purse.child(path.clone(), allowance);
    let answer = owed(&order, &purse, &*model)?;
    let Ground { grant, clamps, workdir, bench } = Ground::prepare(above, &path, &order).await?;
    clamped.extend(clamps);
    clamped.extend(cut_by_parent(above, order.limits.asked));
    let history = inherit(host, &mut order);
    let tools = match order.context {
        Context::Fresh | Context::Quote { .. } | Context::Own => {
            Arc::new(ToolSet::of(&shared.tools, &grant, &order))
        }
        // The same list as the parent's, so that the provider's cache holds; what the fork
        // may not use is refused when it is called.
        Context::Fork | Context::Cut { .. } | Context::Summary => Arc::clone(&above.tools),
    };
    clamped.extend(missing(&order.limits.authority.access, &tools));
    let instructions = instructions(above, &order);
    let birth = Birth {
        shared: Arc::clone(shared),
        path,
        id: None,
        born: 0,
        call: Some(host.call.clone()),
        kit: Kit { model, chosen, instructions, answer, tools, grant, workdir },
        purse,
        clock: Clock::start(least(allowance.time(), above.entry.clock.left())),
        cancel: above.work.child_token(),
        bench,
        places,
        parent: Some(Arc::clone(above)),
    };
    Ok(life::launch(birth, order, history, clamped))
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

/// Puts our names in the place of other products', unless a tool here has that very name.
pub(crate) fn rename(above: &Seat, access: &mut Access) {
    let specs: Vec<_> = above.shared.tools.iter().map(|tool| tool.spec()).collect();
    access.rename(|name| specs.iter().any(|spec| spec.name == name));
}

/// A tool list with a name nobody knows is a mistake, not a wish.
fn check_names(above: &Seat, access: &Access) -> Result<(), Refusal> {
    if access.names().next().is_none() {
        return Ok(());
    }
    let specs: Vec<_> = above.shared.tools.iter().map(|tool| tool.spec()).collect();
    // Of a server that is away there may be none.
    let is_of_server = |name: &str| name.ends_with('*') || name.starts_with("mcp__");
    let is_known = |name: &str| is_of_server(name) || specs.iter().any(|spec| spec.name == name);
    let unknown = access.names().find(|name| !is_known(name));
    match unknown {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
            Err(Refusal::NoTool { name: name.to_owned(), known: known.join(", ") })
        }
    }
}

/// Says which of the tools that were named the child does not have.
fn missing(access: &Access, tools: &ToolSet) -> Option<Clamp> {
    let Access::AllowList { tools: named } = access else { return None };
    let (given, missing): (Vec<_>, Vec<_>) =
        named.iter().map(String::as_str).partition(|name| tools.has(name));
    let clamp = || Clamp {
        what: "tools".to_owned(),
        asked: named.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        given: if given.is_empty() { "none".to_owned() } else { given.join(", ") },
    };
    (!missing.is_empty()).then(clamp)
}

/// Returns what a child knows of its parent's conversation, and adds to its task what it is
/// only told of it.
fn inherit(host: &CallHost, order: &mut Order) -> History {
    let mut history = host.history.clone();
    match order.context {
        // One that has not been there yet knew nothing.
        Context::Fresh | Context::Own => History::default(),
        Context::Quote { last } => {
            order.task.push_str(&quote::messages(history.messages(), last.get()));
            History::default()
        }
        Context::Fork | Context::Summary => {
            history.close(FORKED);
            history
        }
        Context::Cut { last } => {
            history.close(FORKED);
            history.keep_last(last.get());
            history
        }
    }
}

fn instructions(above: &Seat, order: &Order) -> Arc<str> {
    // A fork goes on as its parent, whatever others are told.
    let is_fork = matches!(order.context, Context::Fork | Context::Cut { .. } | Context::Summary);
    match (&order.instructions, above.shared.settings.child_instructions) {
        (Some(instructions), _) => instructions.as_str().into(),
        (None, ChildInstructions::None) if !is_fork => "".into(),
        (None, _) => Arc::clone(&above.instructions),
    }
}

/// Works out how many tokens a child may use, if that is for its parent's purse to say, and
/// tells what was cut off.
pub(crate) fn settle_share(above: &Seat, limits: &mut Limits) -> Vec<Clamp> {
    let left = above.entry.purse.left(Measure::Tokens);
    let share = match limits.share {
        Share::Given => limits.allowance.tokens,
        Share::Remaining => left.and_then(NonZeroU64::new),
        Share::Proportional => {
            let heads = above.custody.at_work() + 2;
            left.map(|left| NonZeroU64::new(left / heads).unwrap_or(NonZeroU64::MIN))
        }
    };
    let most = above.shared.settings.max_budget_per_agent;
    limits.allowance.tokens = least(share, most);
    let is_asked = limits.share != Share::Given || limits.asked.tokens.is_some();
    limits.asked.tokens = limits.asked.tokens.and(limits.allowance.tokens);
    let clamp = |asked: NonZeroU64, given: NonZeroU64| Clamp {
        what: "tokens".to_owned(),
        asked: asked.to_string(),
        given: given.to_string(),
    };
    match (share, most) {
        (Some(asked), Some(most)) if asked > most && is_asked => vec![clamp(asked, most)],
        _ => Vec::new(),
    }
}

/// Says where a child asks for more than its parent has left.
pub(crate) fn cut_by_parent(above: &Seat, asked: Allowance) -> impl Iterator<Item = Clamp> {
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

pub(crate) fn least<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
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
