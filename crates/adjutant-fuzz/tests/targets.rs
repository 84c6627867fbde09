//! Every target, for a moment: the same inputs each time.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::thread;

use adjutant_core::Delta;
use adjutant_fuzz::{Limit, Run, TARGETS, Target, corpus, fuzz};
use adjutant_models::{
    Provider,
    fuzz::{Heard, read},
};

const INPUTS: u64 = 2000;

fn assert_holds(target: &'static Target) {
    let run = fuzz(target, corpus::seeds(target).unwrap(), 7, Limit::Inputs(INPUTS));
    let Run { inputs, kinds } = run.unwrap_or_else(|finding| {
        let (path, name) = (corpus::keep(target, &finding).unwrap(), target.name);
        let again = format!("cargo xtask fuzz {name} --input {}", path.display());
        panic!("{name}: {}\nonce more: {again}", finding.fault)
    });
    assert_eq!(inputs, INPUTS);
    assert!(kinds > 20, "{}: mutations come to nothing, {kinds} kinds of outcome", target.name);
}

#[test]
fn what_has_to_hold_holds_for_every_target() {
    thread::scope(|scope| {
        for target in TARGETS {
            scope.spawn(|| assert_holds(target));
        }
    });
}

#[test]
fn among_the_seeds_of_a_dialect_are_whole_answers() {
    for (name, provider) in [
        ("chat", "openai"),
        ("messages", "anthropic"),
        ("responses", "openai-responses"),
        ("gemini", "gemini"),
    ] {
        let target = TARGETS.iter().find(|target| target.name == name).unwrap();
        let provider = Provider::find(provider).unwrap();
        let seeds = corpus::seeds(target).unwrap();
        let heard = seeds.iter().map(|seed| read(provider, &[seed]));
        let is_whole = |Heard { deltas, error }: &Heard| {
            let has_parts = deltas.iter().any(|delta| matches!(delta, Delta::Part(_)));
            error.is_none() && has_parts && matches!(deltas.last(), Some(Delta::Stop(_)))
        };
        assert!(heard.filter(is_whole).count() > 2, "{name}");
    }
}
