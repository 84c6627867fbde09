//! A tree at random, as data: who does what, in which turn, and what the front end does to it.

use std::{fmt, num::NonZeroU64};

use adjutant_core::{Allowance, Mode, When};
use proptest::{collection::vec, option, prelude::*};

/// What everybody does.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) limits: Limits,
    /// Whoever is told to lead a life takes its turns, one after another. The root leads the first.
    pub(super) lives: Vec<Vec<Turn>>,
    pub(super) front: Front,
    probe: Turn,
}

#[derive(Clone)]
pub(super) struct Limits {
    pub(super) agents: usize,
    pub(super) children: usize,
    pub(super) ops: usize,
    pub(super) model_calls: usize,
    pub(super) depth: u8,
    pub(super) mode: Mode,
    pub(super) root: Allowance,
    /// The root stays when it has done its task.
    pub(super) is_staying: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Front {
    /// Nobody is there.
    pub(super) is_away: bool,
    /// What each question is answered with; whoever is left with none leaves.
    pub(super) answers: Vec<Reply>,
    /// After so many events it says something to the agent of one of them.
    pub(super) orders: Vec<(usize, usize, Said)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    Yes,
    No,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    Steer { life: usize },
    Say { life: usize },
    Cancel,
}

/// What a model does when it is asked.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    Call(Vec<Act>),
    /// Answers, at the second try.
    Stumble,
    /// Breaks off half through, each time.
    Break,
    /// Says nothing more.
    Hang,
    Panic,
}

/// What a call does.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Starts a child.
    Start(Child),
    /// Carries out a plan.
    Plan {
        lives: Vec<usize>,
        is_chain: bool,
        at_once: usize,
    },
    /// Sends a message to one below.
    Send {
        to: usize,
        life: usize,
        when: When,
    },
    /// Sends a message to a peer.
    Write {
        to: usize,
        life: usize,
    },
    Cancel(usize),
    Status(usize),
    /// Waits for some below.
    Wait {
        from: usize,
        is_any: bool,
        patience: Option<u64>,
    },
    /// Asks a person.
    Ask,
    /// Does what may need a permission.
    Change,
    Look,
    Note(u8),
    /// Takes a while, deaf to its token.
    Linger(u64),
    /// Starts something that takes a while to end.
    Hold(u64),
    Panic,
    /// Looks at the tree, and whether every place in it is free.
    Probe,
}

#[derive(Clone)]
pub(super) struct Child {
    pub(super) life: usize,
    pub(super) knows: Knows,
    /// It stays when it has done its task.
    pub(super) is_host: bool,
    pub(super) is_awaited: bool,
    /// An earlier result will do.
    pub(super) recalls: bool,
    /// It may not look, nor may those below it.
    pub(super) is_blind: bool,
    pub(super) mode: Option<Mode>,
    pub(super) allowance: Allowance,
    /// There is no such model.
    pub(super) lacks_model: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Knows {
    Nothing,
    Quote,
    All,
    Last,
    Summary,
}

/// The life a root leads at the end, that looks at everything.
pub(super) const PROBE: usize = 98;
/// One in which nothing is done.
pub(super) const IDLE: usize = 99;

impl Case {
    pub(super) fn turn(&self, life: usize, number: usize) -> Option<&Turn> {
        match (life, number) {
            (PROBE, 0) => Some(&self.probe),
            _ => self.lives.get(life)?.get(number),
        }
    }
}

/// Returns cases of all kinds.
pub(super) fn cases() -> impl Strategy<Value = Case> {
    (limits(), vec(vec(turn(), 0..5), 2..7), front()).prop_map(|(limits, lives, front)| {
        let probe = Turn::Call(vec![Act::Probe]);
        Case { limits, lives, front, probe }
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    let places = (1..8_usize, 1..5_usize, 1..4_usize, 1..4_usize, 1..4_u8);
    let mode = prop_oneof![3 => Just(Mode::Auto), 1 => Just(Mode::Ask)];
    let root = prop_oneof![2 => Just(Allowance::default()), 1 => allowance(4_000..20_000)];
    (places, mode, root, any::<bool>()).prop_map(|(places, mode, root, is_staying)| {
        let (agents, children, ops, model_calls, depth) = places;
        Limits { agents, children, ops, model_calls, depth, mode, root, is_staying }
    })
}

fn allowance(tokens: std::ops::Range<u64>) -> impl Strategy<Value = Allowance> {
    let some = |range: std::ops::Range<u64>| {
        option::weighted(0.3, range).prop_map(|some| some.and_then(NonZeroU64::new))
    };
    // A token costs a millionth, so that money runs out as tokens do.
    (some(tokens.clone()), some(tokens), some(3..60), some(1..5), some(1..6)).prop_map(
        |(tokens, micros, millis, turns, calls)| Allowance { tokens, micros, millis, turns, calls },
    )
}

fn front() -> impl Strategy<Value = Front> {
    let reply = prop_oneof![Just(Reply::Yes), Just(Reply::No), Just(Reply::Nothing)];
    let said = prop_oneof![
        2 => (1..6_usize).prop_map(|life| Said::Steer { life }),
        2 => (1..6_usize).prop_map(|life| Said::Say { life }),
        1 => Just(Said::Cancel),
    ];
    let orders = vec((3..80_usize, 0..80_usize, said), 0..3);
    (prop::bool::weighted(0.2), vec(reply, 0..5), orders)
        .prop_map(|(is_away, answers, orders)| Front { is_away, answers, orders })
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        30 => vec(act(), 1..4).prop_map(Turn::Call),
        1 => Just(Turn::Stumble),
        1 => Just(Turn::Break),
        1 => Just(Turn::Hang),
        1 => Just(Turn::Panic),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let (to, life) = (|| 0..6_usize, || 1..3_usize);
    let when = prop_oneof![Just(When::Queue), Just(When::Steer)];
    let plan = (vec(life(), 1..4), any::<bool>(), 1..3_usize);
    let wait = (to(), any::<bool>(), option::of(1..30_u64));
    prop_oneof![
        8 => child().prop_map(Act::Start),
        2 => plan.prop_map(|(lives, is_chain, at_once)| Act::Plan { lives, is_chain, at_once }),
        5 => (to(), life(), when).prop_map(|(to, life, when)| Act::Send { to, life, when }),
        2 => (to(), life()).prop_map(|(to, life)| Act::Write { to, life }),
        1 => to().prop_map(Act::Cancel),
        1 => to().prop_map(Act::Status),
        2 => wait.prop_map(|(from, is_any, patience)| Act::Wait { from, is_any, patience }),
        1 => Just(Act::Ask),
        1 => Just(Act::Change),
        2 => Just(Act::Look),
        1 => (0..3_u8).prop_map(Act::Note),
        1 => (1..20_u64).prop_map(Act::Linger),
        1 => (1..20_u64).prop_map(Act::Hold),
        1 => Just(Act::Panic),
    ]
}

fn child() -> impl Strategy<Value = Child> {
    let knows = prop_oneof![
        4 => Just(Knows::Nothing),
        1 => Just(Knows::Quote),
        1 => Just(Knows::All),
        1 => Just(Knows::Last),
        1 => Just(Knows::Summary),
    ];
    let how = (prop::bool::weighted(0.3), prop::bool::weighted(0.3), any::<bool>());
    let mode = option::weighted(0.2, prop_oneof![Just(Mode::Plan), Just(Mode::Dangerous)]);
    let less = (prop::bool::weighted(0.2), mode, allowance(500..5_000), prop::bool::weighted(0.03));
    (1..3_usize, knows, how, less).prop_map(|(life, knows, how, less)| {
        let ((is_host, is_awaited, recalls), (is_blind, mode, allowance, lacks_model)) =
            (how, less);
        // Nobody waits for the end of one that stays.
        let is_awaited = is_awaited && !is_host;
        Child { life, knows, is_host, is_awaited, recalls, is_blind, mode, allowance, lacks_model }
    })
}

/// Writes only what is set.
fn may_spend(out: &mut fmt::Formatter<'_>, allowance: &Allowance) -> fmt::Result {
    let Allowance { tokens, micros, millis, turns, calls } = allowance;
    let spent = [("tokens", tokens), ("micros", micros)];
    let limits = spent.into_iter().chain([("ms", millis), ("turns", turns), ("calls", calls)]);
    let set = limits.into_iter().filter_map(|(what, limit)| Some((what, (*limit)?)));
    set.into_iter().try_for_each(|(what, limit)| write!(out, ", {limit} {what}"))
}

impl fmt::Debug for Limits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agents, children, ops, model_calls, depth, mode, root, is_staying } = self;
        write!(out, "{agents} agents, {children} children each, {depth} levels, {ops} ops, ")?;
        write!(out, "{model_calls} model calls; the root: {mode:?}")?;
        write!(out, "{}", if *is_staying { ", stays" } else { "" })?;
        may_spend(out, root)
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} lives on, knows {:?}", self.life, self.knows)?;
        let traits = [
            (self.is_host, "stays"),
            (self.is_awaited, "awaited"),
            (self.recalls, "or what is remembered"),
            (self.is_blind, "blind"),
            (self.lacks_model, "without a model"),
        ];
        let own = traits.iter().filter(|(is_so, _)| *is_so);
        own.into_iter().try_for_each(|(_, what)| write!(out, ", {what}"))?;
        self.mode.iter().try_for_each(|mode| write!(out, ", {mode:?}"))?;
        may_spend(out, &self.allowance)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limits, lives, front, .. } = self;
        writeln!(out, "{limits:?}\n{front:?}")?;
        for (number, turns) in lives.iter().enumerate() {
            writeln!(out, "life {number}:")?;
            for turn in turns {
                match turn {
                    Turn::Call(acts) => {
                        writeln!(out, "  calls")?;
                        acts.iter().try_for_each(|act| writeln!(out, "    {act:?}"))?;
                    }
                    turn => writeln!(out, "  {turn:?}")?,
                }
            }
        }
        Ok(())
    }
}
