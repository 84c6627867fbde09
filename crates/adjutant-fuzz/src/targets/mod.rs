//! What is fuzzed.

mod agents;
mod chat;
mod conversation;
mod edit;
mod gemini;
mod messages;
mod reading;
mod repair;
mod request;
mod responses;
mod shell;
mod sse;

use std::hash::{DefaultHasher, Hash, Hasher as _};

use adjutant_models::Provider;

use crate::Target;

/// Everything that is fuzzed.
pub static TARGETS: &[Target] = &[
    sse::TARGET,
    chat::TARGET,
    messages::TARGET,
    responses::TARGET,
    gemini::TARGET,
    request::TARGET,
    edit::TARGET,
    repair::TARGET,
    shell::TARGET,
    agents::TARGET,
];

/// Returns one provider of each kind.
pub(crate) fn various() -> impl Iterator<Item = &'static Provider> {
    let names = ["anthropic", "openai", "openai-responses", "gemini", "deepseek", "mistral"];
    names.into_iter().filter_map(Provider::find)
}

/// Returns a number for a value, always the same.
pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Cuts an input into pieces where chance, which the input is the seed of, has it.
pub(crate) fn cut(input: &[u8]) -> Vec<&[u8]> {
    let mut chance = fastrand::Rng::with_seed(hash(input));
    let (mut pieces, mut rest) = (Vec::new(), input);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(chance.usize(0..=rest.len().min(80)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
