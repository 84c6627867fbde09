//! What holds of every tree, by what its journal says.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use adjutant_core::{
    Access, AgentPath, Cause, Delivery, Ending, Event, EventKind, Mode, Note, Order, Outcome,
    Receipt, Seq, State, Status, Stay, Tree,
};

use super::{
    actor::Seen,
    case::{Case, Limits},
};
use crate::support::told;

/// One time an agent was there, from its beginning to its end.
struct Life<'a> {
    path: &'a AgentPath,
    order: &'a Order,
    mode: Mode,
    begun: Seq,
    end: Option<(Seq, &'a Arc<Outcome>, &'a Arc<Receipt>)>,
}

impl Life<'_> {
    fn is_within(&self, other: &Self) -> bool {
        let ended = |life: &Self| life.end.map(|(seq, ..)| seq);
        other.begun < self.begun && ended(self) < ended(other)
    }

    fn is_completed(&self) -> bool {
        self.end.is_some_and(|(_, outcome, _)| outcome.ending == Ending::Completed)
    }
}

/// Checks everything.
pub(super) fn check(case: &Case, kept: &[Arc<Event>], seen: &Seen) {
    let lives = lives(kept);
    check_lives(&lives);
    check_authority(&lives, kept);
    check_spending(&lives, kept);
    check_places(&case.limits, kept);
    check_questions(kept);
    check_news(&lives, kept, &seen.taken.lock().unwrap());
    if let Some((below, notes)) = &*seen.last_look.lock().unwrap() {
        check_last_look(kept, below, notes);
    }
}

/// Whoever begins ends, once each time, and says nothing before or after.
fn lives(kept: &[Arc<Event>]) -> Vec<Life<'_>> {
    let (mut lives, mut at) = (Vec::<Life<'_>>::new(), HashMap::new());
    for event in kept {
        let Event { seq, path, kind, .. } = &**event;
        match kind {
            EventKind::Started { order, mode, .. } => {
                assert_eq!(at.insert(path, lives.len()), None, "began twice: {event:?}");
                lives.push(Life { path, order, mode: *mode, begun: *seq, end: None });
            }
            EventKind::Finished { outcome, receipt } => {
                let life = at.remove(path).unwrap_or_else(|| panic!("ended twice: {event:?}"));
                lives[life].end = Some((*seq, outcome, receipt));
            }
            _ => assert!(at.contains_key(path), "not there: {event:?}"),
        }
    }
    assert!(at.is_empty(), "not ended: {at:?}");
    lives
}

/// Returns the life of the parent during which somebody was there.
fn parent<'a>(lives: &'a [Life<'a>], child: &Life<'_>) -> Option<&'a Life<'a>> {
    let path = child.path.parent()?;
    let life = lives.iter().find(|life| *life.path == path && child.is_within(life));
    Some(life.unwrap_or_else(|| panic!("`{}` was there without its parent", child.path)))
}

fn check_lives(lives: &[Life<'_>]) {
    for life in lives {
        parent(lives, life);
        let Some((_, outcome, _)) = life.end else { continue };
        assert_ne!(outcome.cause, Some(Cause::Internal), "{}: {outcome:?}", life.path);
    }
}

/// Nobody is freer than their parent, or does what was denied to somebody above.
fn check_authority(lives: &[Life<'_>], kept: &[Arc<Event>]) {
    for life in lives {
        let above = parent(lives, life).map_or(Mode::Dangerous, |parent| parent.mode);
        assert!(life.mode <= above, "`{}` is freer than its parent", life.path);
    }
    for event in kept {
        let EventKind::Called { tool, .. } = &event.kind else { continue };
        let is_denied = |life: &&Life<'_>| {
            let is_above = *life.path == event.path || event.path.is_below(life.path);
            let access = &life.order.limits.authority.access;
            is_above && matches!(access, Access::DenyList { tools } if tools.contains(tool))
        };
        let denied = lives.iter().find(is_denied).map(|life| life.path);
        assert_eq!(denied, None, "denied: {event:?}");
    }
}

/// Nobody spends more than they may, and every token is accounted for.
fn check_spending(lives: &[Life<'_>], kept: &[Arc<Event>]) {
    for life in lives {
        let (Some((_, _, receipt)), allowance) = (life.end, life.order.limits.allowance) else {
            continue;
        };
        // One more turn is for last words.
        let limits = [
            (allowance.tokens, receipt.tokens),
            (allowance.micros, receipt.micros),
            (allowance.calls, receipt.calls),
            (allowance.turns, receipt.turns.saturating_sub(1)),
        ];
        for (limit, spent) in limits {
            let is_kept = limit.is_none_or(|limit| spent <= limit.get());
            assert!(is_kept, "`{}` spent {spent} of {limit:?}", life.path);
        }
    }
    let spent = kept.iter().map(|event| match &event.kind {
        EventKind::Spent { usage, .. } => usage.total(),
        _ => 0,
    });
    let root = lives[0].end.map(|(_, _, receipt)| receipt.tokens);
    assert_eq!(root, Some(spent.sum()));
}

/// No more are at work at one time than may be.
fn check_places(limits: &Limits, kept: &[Arc<Event>]) {
    let mut at_work: BTreeMap<&AgentPath, Option<AgentPath>> = BTreeMap::new();
    for event in kept {
        let path = &event.path;
        assert!(path.depth() <= usize::from(limits.depth), "too deep: {event:?}");
        let Some(parent) = path.parent() else { continue };
        match &event.kind {
            EventKind::Started { .. } | EventKind::Said { .. } | EventKind::Called { .. } => {
                at_work.insert(path, Some(parent.clone()));
            }
            EventKind::Rested | EventKind::Finished { .. } => {
                at_work.remove(path);
            }
            _ => {}
        }
        let siblings = at_work.values().filter(|other| other.as_ref() == Some(&parent)).count();
        assert!(siblings <= limits.children, "too many children: {event:?}");
        assert!(at_work.len() <= limits.agents, "too many agents: {event:?}");
    }
}

/// Every question is closed, once.
fn check_questions(kept: &[Arc<Event>]) {
    let mut open = Vec::new();
    for event in kept {
        match &event.kind {
            EventKind::Asked { question, .. } => open.push(*question),
            EventKind::Answered { question, .. } | EventKind::Withdrawn { question } => {
                let place = open.iter().position(|other| other == question);
                open.remove(place.unwrap_or_else(|| panic!("not open: {event:?}")));
            }
            _ => {}
        }
    }
    assert_eq!(open, []);
}

/// A parent is told of each end of a child in the background once, or has taken the result; one
/// that completes knows of all.
fn check_news(lives: &[Life<'_>], kept: &[Arc<Event>], taken: &[Arc<Receipt>]) {
    let mut times = HashMap::<&AgentPath, usize>::new();
    for event in kept {
        for child in told(&event.kind) {
            assert_eq!(child.parent().as_ref(), Some(&event.path));
            let told = times.entry(child).or_default();
            *told += 1;
            let has_ended = |life: &&Life<'_>| {
                let is_over = life.end.is_some_and(|(seq, ..)| seq < event.seq);
                life.path == child && life.order.delivery == Delivery::Pushed && is_over
            };
            let ends = lives.iter().filter(has_ended).count();
            assert!(*told <= ends, "`{child}` ended {ends} times and is told {told} times");
        }
    }
    for life in lives {
        let is_known = |life: &&Life<'_>| {
            let is_awaited = life.order.delivery == Delivery::Awaited;
            // What was taken and what was recorded is one and the same receipt.
            let is_taken = |(_, _, own): (_, _, &Arc<Receipt>)| {
                taken.iter().any(|receipt| Arc::ptr_eq(receipt, own))
            };
            // One that stays and completes was let go by a parent that had done its own.
            let is_let_go = life.order.stay == Stay::UntilTold && life.is_completed();
            is_awaited || is_let_go || life.end.is_some_and(is_taken)
        };
        let told = times.get(life.path).copied().unwrap_or_default();
        let all = lives.iter().filter(|other| other.path == life.path);
        let unknown = all.filter(|life| !is_known(life)).count();
        let is_owed = parent(lives, life).is_some_and(Life::is_completed);
        assert!(!is_owed || told >= unknown, "`{}`: its end was not told", life.path);
    }
}

/// When everybody is still, the runtime knows what the journal tells.
fn check_last_look(kept: &[Arc<Event>], below: &[Status], notes: &[Note]) {
    let is_look = |event: &&Arc<Event>| matches!(&event.kind, EventKind::Called { summary, .. } if summary == super::LAST_LOOK);
    let look = kept.iter().rposition(|event| is_look(&event)).unwrap();
    let before = &kept[..look];
    let tree = Tree::fold(before.iter().map(|event| &**event));
    let is_still = |state: State| state.is_final() || state == State::Resting;
    let folded: BTreeMap<_, _> = tree.nodes()[1..].iter().map(|it| (&it.path, it.state)).collect();
    let live: BTreeMap<_, _> = below.iter().map(|it| (&it.path, it.state)).collect();
    if folded.values().chain(live.values()).all(|state| is_still(*state)) {
        assert_eq!(folded, live);
    }
    let mut written = BTreeMap::new();
    for event in before {
        match &event.kind {
            EventKind::Noted { key, value: Some(value) } => {
                written.insert(key, (value, &event.path));
            }
            EventKind::Noted { key, value: None } => {
                written.remove(key);
            }
            _ => {}
        }
    }
    let held: BTreeMap<_, _> = notes.iter().map(|it| (&it.key, (&it.value, &it.by))).collect();
    assert_eq!(written, held);
}
