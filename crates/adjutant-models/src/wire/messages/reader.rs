//! Reads the events of an answer.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use adjutant_core::{Delta, ModelError, Part, StopReason, ToolCall, Trouble, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::{CallIds, Read, Speaker, arguments, is_too_long, parse, retry_in_words, shallow};

/// Reads the events of an answer.
#[derive(Debug)]
pub(super) struct Reader {
    speaker: Speaker,
    ids: CallIds,
    /// The blocks that are not handed on yet, in their order.
    drafts: VecDeque<Draft>,
    tokens: Tokens,
    stop: StopReason,
    is_over: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Beginning,
    },
    ContentBlockStart {
        index: usize,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: usize,
        delta: Fragment,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: End,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error {
        error: Failure,
    },
    /// A sign of life, or something newer than this.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Beginning {
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Fragment {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    CitationsDelta {
        citation: Value,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

/// What was used up to now, as far as it was said.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Details {
    thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Failure {
    r#type: String,
    #[serde(default)]
    message: String,
}

/// A block on its way.
#[derive(Debug)]
struct Draft {
    index: usize,
    block: Map<String, Value>,
    /// The input, which comes as the text of its JSON.
    input: String,
    is_whole: bool,
}

impl Reader {
    pub(super) fn new(speaker: Speaker, messages: usize) -> Self {
        let (ids, drafts, tokens) = (CallIds::new(messages), VecDeque::new(), Tokens::default());
        Self { speaker, ids, drafts, tokens, stop: StopReason::Done, is_over: false }
    }

    fn draft(&mut self, index: usize) -> Option<&mut Draft> {
        self.drafts.iter_mut().find(|draft| draft.index == index)
    }

    fn take(&mut self, index: usize, fragment: Fragment, deltas: &mut Vec<Delta>) {
        let Some(draft) = self.draft(index) else { return };
        match fragment {
            Fragment::TextDelta { text } => {
                draft.append("text", &text);
                deltas.extend(Some(text).filter(|text| !text.is_empty()).map(Delta::Text));
            }
            Fragment::ThinkingDelta { thinking } => {
                draft.append("thinking", &thinking);
                let shown = Some(thinking).filter(|thinking| !thinking.is_empty());
                deltas.extend(shown.map(Delta::Reasoning));
            }
            Fragment::SignatureDelta { signature } => draft.append("signature", &signature),
            Fragment::CitationsDelta { citation } => draft.cite(citation),
            Fragment::InputJsonDelta { partial_json } => draft.input.push_str(&partial_json),
            Fragment::Other => {}
        }
    }

    /// Hands on the blocks that are whole, up to the first that is not.
    fn hand_on(&mut self, deltas: &mut Vec<Delta>) {
        while let Some(draft) = self.drafts.pop_front_if(|draft| draft.is_whole) {
            let part = draft.part(&self.speaker, &mut self.ids);
            deltas.extend(part.map(Delta::Part));
        }
    }

    fn spend(&mut self, tokens: Option<Tokens>, deltas: &mut Vec<Delta>) {
        self.tokens = self.tokens.then(tokens.unwrap_or_default());
        deltas.push(Delta::Usage(self.tokens.into()));
    }
}

impl Read for Reader {
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.is_over {
            return Ok(());
        }
        match parse(data)? {
            Event::MessageStart { message } => self.spend(message.usage, deltas),
            Event::ContentBlockStart { index, content_block: block } => {
                let (input, is_whole) = (String::new(), false);
                self.drafts.push_back(Draft { index, block, input, is_whole });
            }
            Event::ContentBlockDelta { index, delta } => self.take(index, delta, deltas),
            Event::ContentBlockStop { index } => {
                if let Some(draft) = self.draft(index) {
                    draft.is_whole = true;
                }
                self.hand_on(deltas);
            }
            Event::MessageDelta { delta, usage } => {
                self.stop = delta.stop_reason.map_or(self.stop, |reason| stop(&reason));
                self.spend(usage, deltas);
            }
            Event::MessageStop => {
                // What has not ended by now has ended with the answer.
                self.drafts.iter_mut().for_each(|draft| draft.is_whole = true);
                self.hand_on(deltas);
                deltas.push(Delta::Stop(self.stop));
                self.is_over = true;
            }
            Event::Error { error } => return Err(error.into()),
            Event::Other => {}
        }
        Ok(())
    }

    /// An answer that did not say that it was complete is not.
    fn end(&mut self, _: &mut Vec<Delta>) {}
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Filtered,
        // `end_turn` and `stop_sequence`. There is `pause_turn` too, but only for tools that
        // the provider runs itself, and it is asked for none.
        _ => StopReason::Done,
    }
}

impl Draft {
    fn append(&mut self, key: &str, fragment: &str) {
        let text = self.block.entry(key).or_insert_with(|| String::new().into());
        if let Value::String(text) = text {
            text.push_str(fragment);
        }
    }

    fn cite(&mut self, citation: Value) {
        let mut citations = match self.block.remove("citations") {
            Some(Value::Array(citations)) => citations,
            _ => Vec::new(),
        };
        citations.push(citation);
        self.block.insert("citations".to_owned(), citations.into());
    }

    fn text(&self, key: &str) -> &str {
        self.block.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the part that the block is. What is not known here is handed back as it came, and
    /// nothing else is done with it.
    fn part(mut self, speaker: &Speaker, ids: &mut CallIds) -> Option<Part> {
        if !self.input.is_empty() {
            let input = arguments(std::mem::take(&mut self.input));
            self.block.insert("input".to_owned(), input);
        }
        let own = || speaker.native(Value::from(self.block.clone()).to_string());
        match self.text("type") {
            "text" => {
                let (text, native) = (self.text("text").to_owned(), self.is_cited().then(own));
                (!text.is_empty()).then_some(Part::Text { text, native })
            }
            "thinking" => {
                // One without a signature would be refused.
                let native = (!self.text("signature").is_empty()).then(own);
                Some(Part::Reasoning { text: self.text("thinking").to_owned(), native })
            }
            "tool_use" => Some(Part::Call(self.call(ids))),
            _ => Some(Part::Reasoning { text: String::new(), native: Some(own()) }),
        }
    }

    fn is_cited(&self) -> bool {
        let citations = self.block.get("citations").and_then(Value::as_array);
        citations.is_some_and(|citations| !citations.is_empty())
    }

    fn call(mut self, ids: &mut CallIds) -> ToolCall {
        let id = ids.give(self.text("id"));
        let name = self.text("name").to_owned();
        let arguments = self.block.remove("input").map_or_else(|| Map::new().into(), shallow);
        ToolCall { id, name, arguments, native: None }
    }
}

impl Tokens {
    /// Later counts take the place of earlier ones; they are not added.
    fn then(self, later: Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cache_read = tokens.cache_read_input_tokens.unwrap_or(0);
        let cache_write = tokens.cache_creation_input_tokens.unwrap_or(0);
        let fresh = tokens.input_tokens.unwrap_or(0);
        let reasoning = tokens.output_tokens_details.and_then(|details| details.thinking_tokens);
        Self {
            input: fresh.saturating_add(cache_read).saturating_add(cache_write),
            output: tokens.output_tokens.unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: reasoning.unwrap_or(0),
        }
    }
}

impl From<Failure> for ModelError {
    fn from(Failure { r#type: kind, message }: Failure) -> Self {
        let trouble = match kind.as_str() {
            "overloaded_error" | "rate_limit_error" | "api_error" | "timeout_error" => {
                Trouble::Busy
            }
            "authentication_error" | "permission_error" => Trouble::Unauthorized,
            "not_found_error" => Trouble::NotFound,
            "request_too_large" => Trouble::TooLong,
            _ if is_too_long(&message) => Trouble::TooLong,
            _ => Trouble::Refused,
        };
        let message = if message.is_empty() { kind } else { message };
        Self { retry_after: retry_in_words(&message), ..Self::new(trouble, message) }
    }
}
