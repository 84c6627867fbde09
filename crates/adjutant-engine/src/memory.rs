//! What came of earlier orders. A child that did nothing but look would find the same again,
//! as long as everything it looked at is as it was; so it need not be asked again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{
    Context, Digest, Effect, Ending, Isolation, Order, Outcome, Peers, Report, Stay, ToolCall,
    ToolResult, Verdict,
};
use serde_json::Value;

use crate::{choice, host::CallHost, looking::Looking, seat::Seat, start, toolset::ToolSet};

/// How many results are remembered.
const MOST: usize = 64;
/// A child that looked more often is not remembered: to look again would cost too much.
const MOST_LOOKS: usize = 64;

/// What a child did to find what it found.
#[derive(Default)]
pub(crate) struct Looks {
    looks: Vec<Look>,
    /// It did something else than look, or too much.
    is_spoilt: bool,
}

/// A call that only looked, and a digest of what it saw.
struct Look {
    tool: String,
    arguments: Value,
    seen: Digest,
}

impl Looks {
    /// Notes that the agent was told something besides its task.
    pub(crate) fn spoil(&mut self) {
        self.is_spoilt = true;
    }

    /// Follows a turn.
    pub(crate) fn note<'a>(
        &mut self,
        seat: &Seat,
        calls: impl Iterator<Item = &'a ToolCall>,
        results: &[ToolResult],
    ) {
        for (call, result) in calls.zip(results) {
            let tool = seat.tools.find(&call.name);
            let only_looks = tool.is_some_and(|(_, spec)| spec.effect == Effect::Read);
            if !only_looks || self.looks.len() == MOST_LOOKS || !result.images.is_empty() {
                return self.spoil();
            }
            let (tool, arguments) = (call.name.clone(), call.arguments.clone());
            self.looks.push(Look { tool, arguments, seen: Digest::of(result.text.as_bytes()) });
        }
    }
}

/// The results of a session.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    results: HashMap<Digest, Arc<Remembered>>,
    oldest: VecDeque<Digest>,
}

struct Remembered {
    looks: Vec<Look>,
    report: Report,
}

impl Memory {
    /// Keeps what came of an order, if it can only come out the same another time.
    pub(crate) fn keep(&self, seat: &Seat, looks: Looks, report: &Report) {
        let Some(parent) = &seat.parent else { return };
        let is_whole =
            matches!(*report.outcome, Outcome { ending: Ending::Completed, reason: None, .. });
        if looks.is_spoilt || !is_whole {
            return;
        }
        let Some(key) = key(parent, &seat.order, &seat.model.info().name, &seat.tools) else {
            return;
        };
        let remembered = Remembered { looks: looks.looks, report: report.clone() };
        let mut kept = self.lock();
        if kept.results.insert(key.clone(), Arc::new(remembered)).is_none() {
            kept.oldest.push_back(key);
        }
        if kept.oldest.len() > MOST
            && let Some(oldest) = kept.oldest.pop_front()
        {
            kept.results.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what has to be the same for a result to be the same: the order but for its name and
/// how its end is told, and all that a child has from its parent.
fn key(above: &Seat, order: &Order, model: &str, tools: &ToolSet) -> Option<Digest> {
    let is_alone = order.context == Context::Fresh
        && order.isolation == Isolation::Shared
        && order.stay == Stay::UntilDone
        && order.peers == Peers::Nobody;
    if !is_alone {
        return None;
    }
    let mut order = Order { name: String::new(), delivery: Default::default(), ..order.clone() };
    // Those above it are the same, whether or not it was told yet.
    (order.within, order.manner.calls) = (None, Default::default());
    // Whether what it may spend was asked for or is usual makes no difference to it.
    order.limits.asked = Default::default();
    let all = (model, &*above.workdir, &*above.instructions, tools.names(), order);
    Some(Digest::of(&serde_json::to_vec(&all).ok()?))
}

impl CallHost {
    /// Returns what came of an order like this one, if it would come out the same.
    pub(crate) async fn remember(&self, order: &Order) -> Option<Report> {
        let above = &self.seat;
        let (model, _) = choice::model(above, order).ok()?;
        let mut order = order.clone();
        start::rename(above, &mut order.limits.authority.access);
        start::settle_share(above, &mut order.limits);
        let path = above.path().child(&order.name, 0);
        let (grant, _) = above.grant.narrow(path, &order.limits.authority).ok()?;
        let tools = ToolSet::of(&above.shared.tools, &grant, &order);
        let key = key(above, &order, &model.info().name, &tools)?;
        let remembered = above.shared.memory.lock().results.get(&key).cloned()?;
        let Remembered { looks, report } = &*remembered;
        for Look { tool, arguments, seen } in looks {
            let (tool, spec) = tools.find(tool)?;
            let judged = tool.touches(arguments, &above.workdir);
            if grant.judge(spec, &judged).verdict != Verdict::Allow {
                return None;
            }
            let looking = Looking { host: self, child: &report.path, grant: &grant, judged };
            let now = tool.call(arguments.clone(), &looking).await;
            let now = now.unwrap_or_else(|error| error.0);
            if Digest::of(now.as_bytes()) != *seen {
                return None;
            }
        }
        Some(report.clone())
    }
}
