//! How an answer is spoken: piece by piece, with pauses, to one end or another.

use std::{iter, time::Duration};

use adjutant_core::{Delta, ModelError, Part, Request, StopReason, Usage};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

/// An answer that is ready to be spoken.
pub(crate) struct Speech {
    /// The silence before the first word.
    pub(crate) delay: Duration,
    /// The silence between two fragments.
    pub(crate) pause: Duration,
    /// What is said, in order.
    pub(crate) said: Vec<Result<Delta, ModelError>>,
    /// What comes after it.
    pub(crate) end: End,
}

/// What comes after the last word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The stream ends.
    Over,
    /// Nothing, for ever.
    Hang,
}

/// How large the fragments of a text are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// The text is one fragment.
    Whole,
    /// Each word is one, with the blank after it.
    Words,
}

impl Speech {
    /// Speaks.
    pub(crate) fn stream(self) -> BoxStream<'static, Result<Delta, ModelError>> {
        let Self { delay, pause, said, end } = self;
        let pauses = iter::once(delay).chain(iter::repeat(pause));
        let spoken = stream::iter(said.into_iter().zip(pauses).enumerate()).then(
            |(place, (said, pause))| async move {
                if !pause.is_zero() && (place == 0 || is_fragment(&said)) {
                    tokio::time::sleep(pause).await;
                }
                said
            },
        );
        match end {
            End::Over => spoken.boxed(),
            End::Hang => spoken.chain(stream::pending()).boxed(),
        }
    }
}

fn is_fragment(said: &Result<Delta, ModelError>) -> bool {
    matches!(said, Ok(Delta::Text(_) | Delta::Reasoning(_)))
}

/// Returns what there is to show of the parts while they are spoken.
pub(crate) fn fragments(parts: &[Part], grain: Grain) -> Vec<Delta> {
    let mut shown = Vec::with_capacity(parts.len() + 3);
    for part in parts {
        match part {
            Part::Text { text, .. } => shown.extend(pieces(text, grain).map(Delta::Text)),
            Part::Reasoning { text, .. } => shown.extend(pieces(text, grain).map(Delta::Reasoning)),
            Part::Image(_) | Part::Call(_) => {}
        }
    }
    shown
}

fn pieces(text: &str, grain: Grain) -> impl Iterator<Item = String> {
    let is_end = move |c: char| grain == Grain::Words && c.is_whitespace();
    text.split_inclusive(is_end).map(str::to_owned)
}

/// Returns an answer that ends well: its fragments, its parts, what it used.
pub(crate) fn whole(
    parts: Vec<Part>,
    grain: Grain,
    usage: Usage,
    stop: StopReason,
) -> Vec<Result<Delta, ModelError>> {
    let mut deltas = fragments(&parts, grain);
    deltas.extend(parts.into_iter().map(Delta::Part));
    deltas.extend([Delta::Usage(usage), Delta::Stop(stop)]);
    deltas.into_iter().map(Ok).collect()
}

/// Returns the usage of an answer nobody counted: a token for every four bytes of the
/// system prompt, the conversation and the answer.
pub(crate) fn estimate(request: &Request<'_>, parts: &[Part]) -> Usage {
    let read = request.messages.iter().map(|message| message.size()).sum::<usize>();
    let written = parts.iter().map(size).sum();
    let input = tokens(request.system.len() + read);
    Usage { input, output: tokens(written), ..Usage::default() }
}

fn size(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } | Part::Reasoning { text, .. } => text.len(),
        Part::Call(call) => call.name.len() + call.arguments.to_string().len(),
        Part::Image(_) => 0,
    }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_put_together_are_the_text() {
        let text = "two  words,\nand a line\n";
        let parts = [Part::text(text)];
        for (grain, count) in [(Grain::Whole, 1), (Grain::Words, 6)] {
            let fragments = fragments(&parts, grain);
            let texts = fragments.iter().map(|fragment| match fragment {
                Delta::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            });
            assert_eq!(texts.collect::<String>(), text);
            assert_eq!(fragments.len(), count);
        }
    }
}
