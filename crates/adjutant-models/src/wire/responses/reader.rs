//! The answers of Responses. Fragments are only shown; whole items make up the message.

use std::collections::BTreeSet;

use adjutant_core::{Delta, ModelError, Native, Part, StopReason, ToolCall, Trouble, Usage};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::kind;
use crate::wire::{CallIds, Read, Speaker, arguments, error_in_stream, parse};

/// Reads the data of events.
#[derive(Debug)]
pub(super) struct Reader {
    speaker: Speaker,
    ids: CallIds,
    /// The places of the items that have come.
    taken: BTreeSet<usize>,
    /// Which item and which part of it the last thought shown belongs to.
    thought: Option<(usize, usize)>,
    has_calls: bool,
    is_refused: bool,
    is_over: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    r#type: String,
}

#[derive(Deserialize)]
struct Fragment {
    delta: String,
    #[serde(default)]
    output_index: usize,
    summary_index: Option<usize>,
    content_index: Option<usize>,
}

#[derive(Deserialize)]
struct Finished {
    item: Box<RawValue>,
    output_index: Option<usize>,
}

#[derive(Deserialize)]
struct End {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    output: Option<Vec<Box<RawValue>>>,
    usage: Option<Tokens>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

/// An item of a kind that is known.
#[derive(Deserialize)]
struct Item {
    content: Option<Vec<Piece>>,
    summary: Option<Vec<Piece>>,
    #[serde(default)]
    call_id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.input_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning = tokens.output_tokens_details.and_then(|details| details.reasoning_tokens);
        Self {
            input: tokens.input_tokens,
            output: tokens.output_tokens,
            cache_read: cached.unwrap_or(0),
            cache_write: 0,
            reasoning: reasoning.unwrap_or(0),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.is_over || data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let Event { r#type } = parse(data)?;
        match r#type.as_str() {
            "response.output_text.delta" => {
                deltas.push(Delta::Text(parse::<Fragment>(data)?.delta));
            }
            "response.refusal.delta" => {
                self.is_refused = true;
                deltas.push(Delta::Text(parse::<Fragment>(data)?.delta));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.think(parse(data)?, deltas);
            }
            "response.output_item.done" => {
                let Finished { item, output_index } = parse(data)?;
                let place = output_index.unwrap_or(self.taken.len());
                deltas.push(Delta::Part(self.take(place, &item)?));
            }
            "response.completed" => self.finish(parse(data)?, None, deltas)?,
            "response.incomplete" => self.finish(parse(data)?, Some(StopReason::Length), deltas)?,
            "response.failed" => return Err(failure(&parse(data)?)),
            "error" => return Err(error_event(&parse(data)?)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Delta>) {}
}

fn failure(end: &End) -> ModelError {
    let silent = || ModelError::new(Trouble::Broken, "the server failed and did not say why");
    end.response.error.as_ref().map_or_else(silent, error_in_stream)
}

/// The documentation has the error in the event itself; servers put it one level deeper too.
fn error_event(event: &Value) -> ModelError {
    error_in_stream(event.get("error").unwrap_or(event))
}

impl Reader {
    pub(super) fn new(speaker: Speaker, messages: usize) -> Self {
        Self {
            speaker,
            ids: CallIds::new(messages),
            taken: BTreeSet::new(),
            thought: None,
            has_calls: false,
            is_refused: false,
            is_over: false,
        }
    }

    fn think(&mut self, fragment: Fragment, deltas: &mut Vec<Delta>) {
        let Fragment { delta, output_index, summary_index, content_index } = fragment;
        let place = Some((output_index, summary_index.or(content_index).unwrap_or(0)));
        if self.thought.is_some() && self.thought != place {
            deltas.push(Delta::Reasoning("\n\n".to_owned()));
        }
        self.thought = place;
        deltas.push(Delta::Reasoning(delta));
    }

    fn take(&mut self, place: usize, json: &RawValue) -> Result<Part, ModelError> {
        self.taken.insert(place);
        let native = Some(self.speaker.native(json.get()));
        let kind = kind(json.get());
        if !matches!(kind.as_deref(), Some("message" | "reasoning" | "function_call")) {
            // What is not known is not shown, and is handed back all the same.
            return Ok(Part::Reasoning { text: String::new(), native });
        }
        let item: Item = parse(json.get().as_bytes())?;
        Ok(match kind.as_deref() {
            Some("message") => {
                let pieces = item.content.unwrap_or_default();
                self.is_refused |= pieces.iter().any(|piece| piece.refusal.is_some());
                Part::Text { text: words(pieces).concat(), native }
            }
            Some("reasoning") => {
                let summary = item.summary.filter(|pieces| !pieces.is_empty());
                let pieces = summary.or(item.content).unwrap_or_default();
                Part::Reasoning { text: words(pieces).join("\n\n"), native }
            }
            _ => {
                self.has_calls = true;
                Part::Call(self.call(item, native))
            }
        })
    }

    /// A call that was cut off, or that has no id of its own for its result, is not handed
    /// back as it came.
    fn call(&mut self, item: Item, native: Option<Native>) -> ToolCall {
        let Item { call_id, name, arguments: text, .. } = item;
        let (id, arguments) = (self.ids.give(&call_id), arguments(text));
        let native = native.filter(|_| *id == *call_id && !arguments.is_string());
        ToolCall { id, name, arguments, native }
    }

    /// Ends the answer. One that was cut short is, unless the provider says otherwise, too
    /// long.
    fn finish(
        &mut self,
        end: End,
        cut: Option<StopReason>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let Response { output, usage, incomplete_details, .. } = end.response;
        // Some servers tell of an item only here.
        for (place, item) in output.unwrap_or_default().iter().enumerate() {
            if !self.taken.contains(&place) {
                deltas.push(Delta::Part(self.take(place, item)?));
            }
        }
        deltas.extend(usage.map(|tokens| Delta::Usage(tokens.into())));
        let reason = incomplete_details.and_then(|details| details.reason);
        let natural = if self.has_calls { StopReason::Calls } else { StopReason::Done };
        let is_filtered = self.is_refused || reason.as_deref() == Some("content_filter");
        let stop = if is_filtered { StopReason::Filtered } else { cut.unwrap_or(natural) };
        deltas.push(Delta::Stop(stop));
        self.is_over = true;
        Ok(())
    }
}

fn words(pieces: Vec<Piece>) -> Vec<String> {
    pieces.into_iter().filter_map(|piece| piece.text.or(piece.refusal)).collect()
}
