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

/// Cuts an answer to a number of tokens and reports whether anything was lost. A call that
/// does not fit is left out.
pub(crate) fn cut(parts: &mut Vec<Part>, most: u64) -> bool {
    let mut room = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4);
    let before = parts.iter().map(size).sum::<usize>();
    for part in parts.iter_mut() {
        if let Part::Text { text, .. } | Part::Reasoning { text, .. } = part {
            text.truncate(text.floor_char_boundary(room));
        }
        room = room.saturating_sub(size(part));
    }
    let mut room = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(4);
    parts.retain(|part| {
        let fits = size(part) <= room;
        room = room.saturating_sub(size(part));
        fits
    });
    parts.iter().map(size).sum::<usize>() < before
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
    use adjutant_core::ToolCall;

    use super::*;

    #[test]
    fn an_answer_is_cut_between_characters_and_calls_are_whole_or_not_there() {
        let call = ToolCall {
            id: "c".into(),
            name: "look".to_owned(),
            arguments: serde_json::json!({ "path": "a" }),
            native: None,
        };
        let whole = vec![Part::text("é".repeat(10)), Part::Call(call)];
        let mut parts = whole.clone();
        assert!(!cut(&mut parts, 100));
        assert_eq!(parts, whole);
        assert!(cut(&mut parts, 6));
        assert_eq!(parts, whole[..1]);
        assert!(cut(&mut parts, 1));
        assert_eq!(parts, [Part::text("éé")]);
    }

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
