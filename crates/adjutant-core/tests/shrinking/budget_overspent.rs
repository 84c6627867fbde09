//! No purse is overspent, and nothing that was set aside is lost.

use std::{num::NonZeroU64, panic::AssertUnwindSafe, sync::Arc};

use adjutant_core::{
    AgentPath, Allowance, Exhausted, Measure, Need, Price, Purse, Reservation, Turn, Usage,
};
use futures_util::{FutureExt as _, future::join_all};
use proptest::{collection::vec, prelude::*};

fn tokens(tokens: u64) -> Allowance {
    Allowance { tokens: NonZeroU64::new(tokens), ..Allowance::default() }
}

fn need(input: u64, output: u64) -> Need {
    Need { input, output, price: None, turn: Turn::Ordinary }
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// Reserves without waiting.
fn reserve(purse: &Arc<Purse>, need: Need) -> Option<Result<Reservation, Exhausted>> {
    purse.reserve(need).now_or_never()
}

#[derive(Clone, Debug)]
enum Step {
    Reserve { purse: usize, need: Need },
    Settle { which: usize, percent: u64 },
    Drop { which: usize },
    SendAndDrop { which: usize },
    Panic { which: usize },
    Refund { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5usize, any_need()).prop_map(|(purse, need)| Step::Reserve { purse, need }),
        2 => (0..8usize, 0..=100u64).prop_map(|(which, percent)| Step::Settle { which, percent }),
        1 => (0..8usize).prop_map(|which| Step::Drop { which }),
        1 => (0..8usize).prop_map(|which| Step::SendAndDrop { which }),
        1 => (0..8usize).prop_map(|which| Step::Panic { which }),
        1 => (0..8usize).prop_map(|which| Step::Refund { which }),
    ]
}

fn any_need() -> impl Strategy<Value = Need> {
    let price = Price { input: 3_000_000, output: 15_000_000, ..Price::default() };
    let price = prop_oneof![Just(None), Just(Some(price))];
    let turn = prop_oneof![4 => Just(Turn::Ordinary), 1 => Just(Turn::Last)];
    (1..200u64, 1..400u64, price, turn).prop_map(|(input, output, price, turn)| Need {
        input,
        output,
        price,
        turn,
    })
}

fn any_allowance() -> impl Strategy<Value = Allowance> {
    (100..3000u64, 300..30_000u64)
        .prop_map(|(limit, micros)| Allowance { micros: NonZeroU64::new(micros), ..tokens(limit) })
}

/// A root, two children, and a child of each.
fn family(allowances: &[Allowance]) -> Vec<Arc<Purse>> {
    let path = AgentPath::root();
    let root = Purse::open(path.clone(), allowances[0]);
    let one = root.child(path.child("one", 1), allowances[1]);
    let two = root.child(path.child("two", 2), allowances[2]);
    let leaf = one.child(path.child("leaf", 1), allowances[3]);
    let twig = two.child(path.child("twig", 1), allowances[4]);
    vec![root, one, two, leaf, twig]
}

fn take(open: &mut Vec<(Reservation, u64)>, which: usize) -> Option<(Reservation, u64)> {
    (!open.is_empty()).then(|| open.swap_remove(which % open.len()))
}

fn act(purses: &[Arc<Purse>], open: &mut Vec<(Reservation, u64)>, step: &Step) {
    match *step {
        Step::Reserve { purse, need } => {
            if let Some(Ok(reservation)) = reserve(&purses[purse], need) {
                open.push((reservation, need.input));
            }
        }
        Step::Settle { which, percent } => {
            if let Some((reservation, input)) = take(open, which) {
                let output = reservation.output() * percent / 100;
                reservation.settle(usage(input, output));
            }
        }
        Step::Drop { which } => drop(take(open, which)),
        Step::SendAndDrop { which } => {
            if let Some((mut reservation, input)) = take(open, which) {
                reservation.sent();
                reservation.saw(usage(input, reservation.output()));
            }
        }
        Step::Panic { which } => {
            if let Some((mut reservation, _)) = take(open, which) {
                reservation.sent();
                let hook = std::panic::take_hook();
                std::panic::set_hook(Box::new(|_| {}));
                let call = AssertUnwindSafe(move || {
                    let _reservation = reservation;
                    panic!("the call broke");
                });
                let _ = std::panic::catch_unwind(call);
                std::panic::set_hook(hook);
            }
        }
        Step::Refund { which } => {
            if let Some((reservation, _)) = take(open, which) {
                reservation.refund();
            }
        }
    }
}

fn check(purses: &[Arc<Purse>], allowances: &[Allowance]) -> Result<(), TestCaseError> {
    for (purse, allowance) in purses.iter().zip(allowances) {
        let spending = purse.spending();
        let (tokens, micros) = (spending.tokens + spending.reserved, spending.micros);
        let Allowance { tokens: Some(most_tokens), micros: Some(most_micros), .. } = *allowance
        else {
            unreachable!("both are limited")
        };
        prop_assert!(tokens <= most_tokens.get(), "{spending:?}");
        prop_assert!(micros <= most_micros.get(), "{spending:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Calls that take no more than was set aside never overspend any purse, and what is set
    /// aside is always covered.
    #[test]
    fn what_is_spent_and_set_aside_never_exceeds_an_allowance(
        allowances in vec(any_allowance(), 5),
        steps in vec(step(), 1..60),
    ) {
        let purses = family(&allowances);
        let mut open = Vec::new();
        for step in &steps {
            act(&purses, &mut open, step);
            check(&purses, &allowances)?;
        }
        // At worst every call in flight takes all that was set aside for it.
        while !open.is_empty() {
            act(&purses, &mut open, &Step::Settle { which: 0, percent: 100 });
        }
        check(&purses, &allowances)?;
        for purse in &purses {
            prop_assert_eq!(purse.spending().reserved, 0);
        }
        let leaves = purses[1].spending().tokens + purses[2].spending().tokens;
        prop_assert_eq!(purses[0].spending().tokens, leaves + purses[0].spending().own.total());
    }

    /// Calls may take more than was estimated; an allowance is then exceeded by no more than
    /// what was in flight.
    #[test]
    fn an_underestimate_costs_no_more_than_was_in_flight(
        calls in vec((1..100u64, 1..100u64), 1..40),
        allowance in 200..2000u64,
    ) {
        let root = Purse::open(AgentPath::root(), tokens(allowance));
        let child = root.child(AgentPath::root().child("a", 1), Allowance::default());
        let mut open = Vec::new();
        for (input, output) in calls {
            match reserve(&child, need(input, output)) {
                Some(Ok(reservation)) => open.push((reservation, input)),
                _ if open.is_empty() => break,
                _ => {
                    let in_flight = root.spending().reserved;
                    for (reservation, input) in open.drain(..) {
                        let output = reservation.output();
                        reservation.settle(usage(2 * input, 2 * output));
                    }
                    prop_assert!(root.spending().tokens <= allowance + in_flight);
                }
            }
        }
    }
}

#[tokio::test]
async fn concurrent_children_wait_for_one_another_and_stay_within() {
    let root = Purse::open(AgentPath::root(), tokens(10_000));
    let children = (1..=20).map(|number| {
        let child = root.child(AgentPath::root().child("busy", number), Allowance::default());
        async move {
            let mut calls = 0;
            while let Ok(reservation) = child.reserve(need(100, 400)).await {
                tokio::task::yield_now().await;
                reservation.settle(usage(100, 50));
                calls += 1;
            }
            calls
        }
    });
    let calls: u64 = join_all(children).await.into_iter().sum();
    let spending = root.spending();
    assert_eq!(spending.tokens, calls * 150);
    // What is left is what one of them needs for its last turn.
    assert!(spending.tokens <= 8_900 && spending.tokens > 8_500, "{spending:?}");
    assert_eq!(spending.reserved, 0);
}

#[test]
fn somebody_stopped_by_a_limit_above_can_pay_for_a_last_turn() {
    let root = Purse::open(AgentPath::root(), tokens(1000));
    let child = root.child(AgentPath::root().child("a", 1), Allowance::default());
    let Some(Ok(reservation)) = reserve(&child, need(100, 10)) else { panic!("refused") };
    reservation.settle(usage(100, 750));
    assert!(matches!(reserve(&child, need(100, 40)), Some(Err(_))), "an ordinary turn");
    let last = Need { turn: Turn::Last, ..need(100, 40) };
    assert!(matches!(reserve(&child, last), Some(Ok(_))));
}

#[test]
fn the_last_turn_of_a_child_leaves_its_parents_alone() {
    let root = Purse::open(AgentPath::root(), tokens(1000));
    let child = root.child(AgentPath::root().child("a", 1), Allowance::default());
    let Some(Ok(reservation)) = reserve(&root, need(200, 10)) else { panic!("refused") };
    reservation.settle(usage(200, 450));
    // Of the 350 that are left the root's last turn needs 300.
    let last = |input| Need { turn: Turn::Last, ..need(input, 40) };
    assert!(matches!(reserve(&child, last(100)), Some(Err(_))));
    assert!(matches!(reserve(&child, last(10)), Some(Ok(_))));
    assert!(matches!(reserve(&root, last(100)), Some(Ok(_))));
}

#[test]
fn what_goes_through_the_cache_is_charged_once() {
    let price =
        Price { input: 10_000_000, output: 0, cache_read: 1_000_000, cache_write: 12_000_000 };
    let usage = Usage { input: 100, cache_read: 30, cache_write: 50, ..Usage::default() };
    assert_eq!(price.cost(usage), 20 * 10 + 30 + 50 * 12);
}

#[test]
fn nothing_left_means_none() {
    let root = Purse::open(AgentPath::root(), tokens(1000));
    let child = root.child(AgentPath::root().child("a", 1), tokens(5000));
    assert_eq!(child.left(Measure::Tokens), Some(1000));
    assert_eq!(child.left(Measure::Money), None);
    child.check().unwrap();
    let Some(Ok(reservation)) = reserve(&child, need(100, 100)) else { panic!("refused") };
    reservation.settle(usage(100, 900));
    assert_eq!(child.left(Measure::Tokens), Some(0));
    assert_eq!(child.check().map_err(|exhausted| exhausted.agent), Err(AgentPath::root()));
}

#[test]
fn a_call_waits_for_those_in_flight_and_is_refused_by_what_is_spent() {
    let root = Purse::open(AgentPath::root(), tokens(1000));
    let Some(Ok(first)) = reserve(&root, need(100, 900)) else { panic!("refused") };
    assert!(reserve(&root, need(300, 100)).is_none(), "only a call in flight stands in the way");
    first.settle(usage(100, 700));
    let Some(Err(exhausted)) = reserve(&root, need(300, 100)) else { panic!("not refused") };
    assert_eq!(exhausted.measure, Measure::Tokens);
    assert_eq!((exhausted.spent, exhausted.limit), (800, 1000));
}

#[test]
fn the_last_turn_may_use_what_was_kept_back_for_it() {
    let root = Purse::open(AgentPath::root(), tokens(1000));
    let child = root.child(AgentPath::root().child("a", 1), Allowance::default());
    let Some(Ok(reservation)) = reserve(&root, need(200, 10)) else { panic!("refused") };
    reservation.settle(usage(200, 450));
    assert!(matches!(reserve(&root, need(200, 100)), Some(Err(_))), "an ordinary turn");
    assert!(matches!(reserve(&child, need(200, 100)), Some(Err(_))), "a child's turn");
    let last = Need { turn: Turn::Last, ..need(200, 100) };
    assert!(matches!(reserve(&root, last), Some(Ok(_))));
}

#[test]
fn an_answer_is_cut_to_what_can_be_paid() {
    let root = Purse::open(AgentPath::root(), tokens(10_000));
    let child = root.child(AgentPath::root().child("a", 1), tokens(700));
    let Some(Ok(reservation)) = reserve(&child, need(100, 8000)) else { panic!("refused") };
    assert_eq!(reservation.output(), 700 - 100 - (100 + 70));
}

#[test]
fn money_is_limited_like_tokens() {
    let price = Price { input: 1_000_000, output: 2_000_000, ..Price::default() };
    let allowance = Allowance { micros: NonZeroU64::new(1000), ..Allowance::default() };
    let root = Purse::open(AgentPath::root(), allowance);
    let dear = Need { input: 100, output: 8000, price: Some(price), turn: Turn::Last };
    let Some(Ok(reservation)) = reserve(&root, dear) else { panic!("refused") };
    assert_eq!(reservation.output(), 450);
    let (_, micros) = reservation.settle(usage(100, 450));
    assert_eq!(micros, 1000);
    let Some(Err(exhausted)) = reserve(&root, dear) else { panic!("not refused") };
    assert_eq!(exhausted.measure, Measure::Money);
}

#[test]
fn turns_and_calls_are_the_agents_own() {
    let two = Allowance { turns: NonZeroU64::new(2), calls: NonZeroU64::new(1), ..tokens(1000) };
    let root = Purse::open(AgentPath::root(), two);
    let child = root.child(AgentPath::root().child("a", 1), Allowance::default());
    for _ in 0..9 {
        child.take_turn().unwrap();
        child.take_call().unwrap();
    }
    root.take_turn().unwrap();
    root.take_turn().unwrap();
    assert_eq!(root.take_turn().map_err(|exhausted| exhausted.measure), Err(Measure::Turns));
    root.take_call().unwrap();
    assert_eq!(root.take_call().map_err(|exhausted| exhausted.measure), Err(Measure::Calls));
}
