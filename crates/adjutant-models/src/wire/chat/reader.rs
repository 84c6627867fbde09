//! The answers of Chat Completions. Servers differ in how they cut them up, so the parts are
//! put together from fragments and given at the end.

use adjutant_core::{Delta, ModelError, Part, StopReason, ToolCall, Trouble, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    provider::Thoughts,
    wire::{CallIds, Read, Speaker, arguments, error_in_stream, parse},
};

/// Reads the data of events.
#[derive(Debug)]
pub(super) struct Reader {
    speaker: Speaker,
    ids: CallIds,
    text: String,
    reasoning: String,
    /// What is to be handed back of the reasoning.
    details: Vec<Value>,
    calls: Vec<Draft>,
    stop: Option<StopReason>,
    is_refused: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Fragment>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Fragment {
    content: Option<Content>,
    /// What was thought goes by two names; some servers use both for the same words.
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallFragment>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Pieces(Vec<Piece>),
}

/// A piece of a content: words, or thoughts that are pieces themselves.
#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    thinking: Option<Vec<Self>>,
}

#[derive(Deserialize)]
struct CallFragment {
    index: Option<u64>,
    id: Option<String>,
    #[serde(default)]
    function: FunctionFragment,
}

#[derive(Default, Deserialize)]
struct FunctionFragment {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_cache_hit_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning = tokens.completion_tokens_details.and_then(|it| it.reasoning_tokens);
        Self {
            input: tokens.prompt_tokens,
            output: tokens.completion_tokens,
            cache_read: cached.or(tokens.prompt_cache_hit_tokens).unwrap_or(0),
            cache_write: 0,
            reasoning: reasoning.unwrap_or(0),
        }
    }
}

impl Content {
    /// Returns the words and the thoughts.
    fn split(self) -> (String, String) {
        match self {
            Self::Text(text) => (text, String::new()),
            Self::Pieces(pieces) => {
                let thoughts = pieces.iter().filter_map(|piece| piece.thinking.as_ref()).flatten();
                (texts(&pieces), texts(thoughts))
            }
        }
    }
}

fn texts<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> String {
    pieces.into_iter().filter_map(|piece| piece.text.as_deref()).collect()
}

impl Read for Reader {
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.is_over || data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.finish(deltas);
            return Ok(());
        }
        let chunk: Chunk = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(error_in_stream(&error));
        }
        for choice in chunk.choices {
            self.take(choice, deltas)?;
        }
        deltas.extend(chunk.usage.map(|tokens| Delta::Usage(tokens.into())));
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        // Some servers say no more than why they stopped.
        if self.stop.is_some() && !self.is_over {
            self.finish(deltas);
        }
    }
}

impl Reader {
    pub(super) fn new(speaker: Speaker, messages: usize) -> Self {
        Self {
            speaker,
            ids: CallIds::new(messages),
            text: String::new(),
            reasoning: String::new(),
            details: Vec::new(),
            calls: Vec::new(),
            stop: None,
            is_refused: false,
            is_over: false,
        }
    }

    fn take(&mut self, choice: Choice, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some(error) = choice.error {
            return Err(error_in_stream(&error));
        }
        let fragment = choice.delta.unwrap_or_default();
        let (text, thought) = fragment.content.map(Content::split).unwrap_or_default();
        let refusal = fragment.refusal.unwrap_or_default();
        self.is_refused |= !refusal.is_empty();
        let thoughts = [fragment.reasoning, fragment.reasoning_content, Some(thought)];
        if let Some(thought) = thoughts.into_iter().flatten().find(|thought| !thought.is_empty()) {
            self.reasoning.push_str(&thought);
            deltas.push(Delta::Reasoning(thought));
        }
        for text in [text, refusal].into_iter().filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            deltas.push(Delta::Text(text));
        }
        for detail in fragment.reasoning_details.into_iter().flatten() {
            self.take_detail(detail);
        }
        for fragment in fragment.tool_calls.into_iter().flatten() {
            self.take_call(fragment);
        }
        if let Some(reason) = choice.finish_reason {
            self.stop = Some(stop(&reason)?);
        }
        Ok(())
    }

    /// Fragments of words are put together; what is sealed comes whole.
    fn take_detail(&mut self, detail: Value) {
        let is_words = detail["type"] == "reasoning.text" || detail["type"] == "reasoning.summary";
        let same = |last: &Value| ["type", "index"].iter().all(|key| last[key] == detail[key]);
        let last = self.details.last_mut().filter(|last| is_words && same(last));
        let (Some(Value::Object(last)), Value::Object(fields)) = (last, &detail) else {
            self.details.push(detail);
            return;
        };
        for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match (last.get_mut(key), value) {
                (Some(Value::String(words)), Value::String(more))
                    if key == "text" || key == "summary" =>
                {
                    words.push_str(more);
                }
                _ => {
                    last.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// A fragment belongs to the last call of its index; without one, to the call of its id or
    /// to the last. Some servers give all calls the same index, but each its id and its name;
    /// others give each fragment of a call another id, but name it once.
    fn take_call(&mut self, fragment: CallFragment) {
        let CallFragment { index, id, function } = fragment;
        let is_new_id =
            |draft: &Draft| id.as_ref().is_some_and(|id| !id.is_empty() && *id != draft.id);
        let is_named = function.name.as_ref().is_some_and(|name| !name.is_empty());
        let is_other = |draft: &Draft| is_named && !draft.id.is_empty() && is_new_id(draft);
        let place = match index {
            Some(_) => {
                self.calls.iter().rposition(|draft| draft.index == index && !is_other(draft))
            }
            None => self.calls.len().checked_sub(1).filter(|last| !is_new_id(&self.calls[*last])),
        };
        let place = place.unwrap_or_else(|| {
            self.calls.push(Draft { index, ..Draft::default() });
            self.calls.len() - 1
        });
        let draft = &mut self.calls[place];
        if let Some(id) = id
            && draft.id.is_empty()
        {
            draft.id = id;
        }
        draft.name.push_str(&function.name.unwrap_or_default());
        draft.arguments.push_str(&function.arguments.unwrap_or_default());
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) {
        self.is_over = true;
        deltas.extend(self.thoughts().map(Delta::Part));
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            deltas.push(Delta::Part(Part::text(text)));
        }
        let calls = std::mem::take(&mut self.calls);
        let natural = if calls.is_empty() { StopReason::Done } else { StopReason::Calls };
        for draft in calls {
            deltas.push(Delta::Part(Part::Call(draft.call(&mut self.ids))));
        }
        deltas.push(Delta::Stop(match self.stop {
            _ if self.is_refused => StopReason::Filtered,
            Some(StopReason::Done) | None => natural,
            Some(stop) => stop,
        }));
    }

    /// Returns what was thought, with what is to be handed back of it.
    fn thoughts(&mut self) -> Option<Part> {
        let text = std::mem::take(&mut self.reasoning);
        let given = match self.speaker.quirks.thoughts {
            Thoughts::All => (!text.is_empty()).then(|| Value::from(text.as_str())),
            Thoughts::Given => (!self.details.is_empty()).then(|| self.details.drain(..).collect()),
        };
        let native = given.map(|given| self.speaker.native(given.to_string()));
        (native.is_some() || !text.is_empty()).then_some(Part::Reasoning { text, native })
    }
}

fn stop(reason: &str) -> Result<StopReason, ModelError> {
    Ok(match reason {
        "tool_calls" | "function_call" => StopReason::Calls,
        "length" => StopReason::Length,
        "content_filter" => StopReason::Filtered,
        "error" => {
            let why = "the server broke off the answer and did not say why";
            return Err(ModelError::new(Trouble::Broken, why));
        }
        _ => StopReason::Done,
    })
}

impl Draft {
    fn call(self, ids: &mut CallIds) -> ToolCall {
        let Self { id, name, arguments: text, .. } = self;
        // A server that gives no id still wants one back.
        ToolCall { id: ids.give(&id), name, arguments: arguments(text), native: None }
    }
}
