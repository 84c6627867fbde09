//! Gemini's answers. Each event is a piece of the answer in the form of a whole one; there
//! is no mark of the end but the reason for it.

use adjutant_core::{Delta, ModelError, Native, Part, StopReason, ToolCall, Trouble, Usage};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::wire::{CallIds, Read, Speaker, delay, is_too_long, parse, retry_in_words, shallow};

/// Reads the data of events.
#[derive(Debug)]
pub(super) struct Reader {
    speaker: Speaker,
    ids: CallIds,
    /// What was said so far. Only a last part without a form of its own still grows.
    parts: Vec<Part>,
    stop: Option<StopReason>,
    is_over: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Tokens>,
    prompt_feedback: Option<Feedback>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    content: Content,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Default, Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fragment {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<Call>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    args: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    code: u16,
    message: String,
    status: String,
    details: Vec<Value>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.prompt_token_count.saturating_add(tokens.tool_use_prompt_token_count),
            output: tokens.candidates_token_count.saturating_add(tokens.thoughts_token_count),
            cache_read: tokens.cached_content_token_count,
            cache_write: 0,
            reasoning: tokens.thoughts_token_count,
        }
    }
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        let Failure { code, message, status, details } = failure;
        let trouble = match (status.as_str(), code) {
            ("RESOURCE_EXHAUSTED" | "UNAVAILABLE" | "INTERNAL" | "DEADLINE_EXCEEDED", _)
            | (_, 408 | 409 | 429 | 500..) => Trouble::Busy,
            _ if is_too_long(&message) => Trouble::TooLong,
            ("UNAUTHENTICATED" | "PERMISSION_DENIED", _) => Trouble::Unauthorized,
            ("NOT_FOUND", _) => Trouble::NotFound,
            _ => Trouble::Refused,
        };
        let told = details.iter().find_map(|detail| delay(detail["retryDelay"].as_str()?));
        let retry_after = told.or_else(|| retry_in_words(&message));
        Self { retry_after, ..Self::new(trouble, message) }
    }
}

impl Read for Reader {
    fn read(&mut self, data: &[u8], deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.is_over || data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk = parse(data)?;
        if let Some(failure) = chunk.error {
            return Err(failure.into());
        }
        let is_counted = chunk.usage_metadata.is_some();
        deltas.extend(chunk.usage_metadata.map(|tokens| Delta::Usage(tokens.into())));
        if let Some(reason) = chunk.prompt_feedback.and_then(|feedback| feedback.block_reason) {
            let message = format!("the provider blocks what the model was to read: {reason}");
            return Err(ModelError::new(Trouble::Refused, message));
        }
        if let Some(candidate) = chunk.candidates.into_iter().next() {
            self.take(candidate, deltas)?;
        }
        // Nothing follows the count that comes with the reason or after it, and a server
        // may keep the connection open.
        if is_counted {
            self.end(deltas);
        }
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        let Some(stop) = self.stop.filter(|_| !self.is_over) else { return };
        self.is_over = true;
        let has_calls = self.calls() > 0;
        deltas.extend(self.parts.drain(..).map(Delta::Part));
        let is_call = stop == StopReason::Done && has_calls;
        deltas.push(Delta::Stop(if is_call { StopReason::Calls } else { stop }));
    }
}

impl Reader {
    pub(super) fn new(speaker: Speaker, messages: usize) -> Self {
        let ids = CallIds::new(messages);
        Self { speaker, ids, parts: Vec::new(), stop: None, is_over: false }
    }

    fn take(&mut self, candidate: Candidate, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        for part in candidate.content.parts {
            self.take_part(&part, deltas)?;
        }
        if let Some(reason) = candidate.finish_reason {
            self.stop = Some(stop(&reason, candidate.finish_message)?);
        }
        Ok(())
    }

    fn take_part(&mut self, raw: &RawValue, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let Fragment { text, thought, thought_signature, function_call } =
            parse(raw.get().as_bytes())?;
        let own = || Some(self.speaker.native(raw.get()));
        match (function_call, text) {
            (Some(call), _) => {
                let native = own();
                let call = self.call(call, native);
                self.parts.push(Part::Call(call));
            }
            (None, Some(text)) => {
                let native = thought_signature.and_then(|_| own());
                let show = if thought { Delta::Reasoning } else { Delta::Text };
                if !text.is_empty() {
                    deltas.push(show(text.clone()));
                } else if native.is_none() {
                    return Ok(());
                }
                self.say(if thought {
                    Part::Reasoning { text, native }
                } else {
                    Part::Text { text, native }
                });
            }
            // Handed back, a part of nothing would be refused.
            (None, None) if raw.get() == "{}" => {}
            // Nothing of ours, but the model may want it back.
            (None, None) => {
                let native = own();
                self.parts.push(Part::Text { text: String::new(), native });
            }
        }
        Ok(())
    }

    /// Adds to the last part what goes on with it. A signature belongs to the very part that
    /// has it, so that neither before nor after it does anything go on.
    fn say(&mut self, part: Part) {
        match (self.parts.last_mut(), &part) {
            (Some(Part::Text { text, native: None }), Part::Text { text: more, native: None })
            | (
                Some(Part::Reasoning { text, native: None }),
                Part::Reasoning { text: more, native: None },
            ) => text.push_str(more),
            _ => self.parts.push(part),
        }
    }

    fn call(&mut self, call: Call, native: Option<Native>) -> ToolCall {
        let Call { id, name, args } = call;
        let id = self.ids.give(&id.unwrap_or_default());
        let arguments = args.map_or_else(|| json!({}), shallow);
        ToolCall { id, name, arguments, native }
    }

    fn calls(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Call(_))).count()
    }
}

fn stop(reason: &str, message: Option<String>) -> Result<StopReason, ModelError> {
    match reason {
        "MAX_TOKENS" => Ok(StopReason::Length),
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "LANGUAGE"
        | "IMAGE_SAFETY"
        | "IMAGE_RECITATION"
        | "IMAGE_PROHIBITED_CONTENT" => Ok(StopReason::Filtered),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => {
            let message = message.map(|message| format!(": {message}")).unwrap_or_default();
            let message = format!("the model's answer went wrong, {reason}{message}");
            Err(ModelError::new(Trouble::Broken, message))
        }
        _ => Ok(StopReason::Done),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wire::{Dialect as _, gemini::Gemini, testing};

    fn speaker() -> Speaker {
        testing::speaker("gemini", "gemini-3-pro")
    }

    fn read(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
        testing::read(&Gemini, &speaker(), events)
    }

    #[expect(clippy::needless_pass_by_value, reason = "its callers read better")]
    fn parts(parts: Value) -> Value {
        json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
    }

    fn finish(reason: &str) -> Value {
        json!({ "candidates": [{ "finishReason": reason, "finishMessage": "so it is" }] })
    }

    fn native(json: &Value) -> Option<Native> {
        Some(speaker().native(json.to_string()))
    }

    fn whole(deltas: &[Delta]) -> Vec<&Part> {
        let parts = deltas.iter().filter_map(|delta| match delta {
            Delta::Part(part) => Some(part),
            _ => None,
        });
        parts.collect()
    }

    #[test]
    fn thoughts_words_and_counts_are_read_as_they_come() {
        let usage = |thoughts: u64, words: u64| {
            json!({
                "promptTokenCount": 90, "toolUsePromptTokenCount": 10,
                "cachedContentTokenCount": 64, "candidatesTokenCount": words,
                "thoughtsTokenCount": thoughts, "totalTokenCount": 0,
            })
        };
        let mut first = parts(json!([{ "text": "Let me ", "thought": true }]));
        first["usageMetadata"] = usage(3, 0);
        let mut last = parts(json!([{ "text": "teen" }]));
        last["candidates"][0]["finishReason"] = "STOP".into();
        last["usageMetadata"] = usage(5, 2);
        let deltas = read(&[
            first,
            parts(
                json!([{ "text": "think", "thought": true }, { "text": "four" }, { "text": "" }]),
            ),
            last,
        ]);
        let usage = |reasoning, output| {
            Delta::Usage(Usage { input: 100, output, cache_read: 64, cache_write: 0, reasoning })
        };
        let expected = [
            usage(3, 3),
            Delta::Reasoning("Let me ".to_owned()),
            Delta::Reasoning("think".to_owned()),
            Delta::Text("four".to_owned()),
            usage(5, 7),
            Delta::Text("teen".to_owned()),
            Delta::Part(Part::Reasoning { text: "Let me think".to_owned(), native: None }),
            Delta::Part(Part::text("fourteen")),
            Delta::Stop(StopReason::Done),
        ];
        assert_eq!(deltas.unwrap(), expected);
    }

    #[test]
    fn counts_beyond_all_measure_are_counted_as_far_as_can_be() {
        let most = json!({
            "promptTokenCount": u64::MAX, "toolUsePromptTokenCount": 1,
            "candidatesTokenCount": 1, "thoughtsTokenCount": u64::MAX,
        });
        let deltas = read(&[json!({ "usageMetadata": most })]).unwrap();
        let (input, output, reasoning) = (u64::MAX, u64::MAX, u64::MAX);
        let usage = Usage { input, output, reasoning, ..Usage::default() };
        assert_eq!(deltas, [Delta::Usage(usage)]);
    }

    #[test]
    fn a_part_with_a_signature_stays_by_itself() {
        let signed = json!({ "text": "b", "thoughtSignature": "s" });
        let empty = json!({ "text": "", "thoughtSignature": "t" });
        let thought = json!({ "text": "d", "thought": true, "thoughtSignature": "u" });
        let said = json!([{ "text": "a" }, signed, { "text": "c" }, empty, thought]);
        let deltas = read(&[parts(said), finish("STOP")]).unwrap();
        let text = |text: &str, native| Part::Text { text: text.to_owned(), native };
        let expected = [
            &Part::text("a"),
            &text("b", native(&signed)),
            &Part::text("c"),
            &text("", native(&empty)),
            &Part::Reasoning { text: "d".to_owned(), native: native(&thought) },
        ];
        assert_eq!(whole(&deltas), expected);
        let shown = deltas.iter().filter(|it| matches!(it, Delta::Text(_) | Delta::Reasoning(_)));
        assert_eq!(shown.count(), 4, "nothing is shown of an empty text");
    }

    #[test]
    fn calls_without_ids_get_different_ones() {
        let one = json!({ "functionCall": { "name": "look", "args": { "at": 1 } } });
        let two = json!({ "functionCall": { "name": "look" } });
        let three = json!({ "functionCall": { "name": "hear", "id": "own" } });
        let events = [parts(json!([one])), parts(json!([two])), parts(json!([three]))];
        let deltas = read(&[&events[..], &[finish("STOP")]].concat()).unwrap();
        let call = |id: &str, name: &str, arguments, json| {
            let (id, name) = (id.into(), name.to_owned());
            Part::Call(ToolCall { id, name, arguments, native: native(json) })
        };
        let expected = [
            &call("call_3_0", "look", json!({ "at": 1 }), &one),
            &call("call_3_1", "look", json!({}), &two),
            &call("own", "hear", json!({}), &three),
        ];
        assert_eq!(whole(&deltas), expected);
        assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Calls)));
    }

    #[test]
    fn what_is_no_part_of_ours_is_kept_and_what_is_nothing_is_not() {
        let code = json!({ "executableCode": { "code": "1", "language": "PYTHON" } });
        let deltas = read(&[parts(json!([{}, code])), finish("STOP")]).unwrap();
        assert_eq!(whole(&deltas), [&Part::Text { text: String::new(), native: native(&code) }]);
    }

    #[test]
    fn an_answer_is_over_when_its_end_is_counted_and_not_before_it_ends() {
        let said = parts(json!([{ "text": "half" }]));
        let half = [Delta::Text("half".to_owned())];
        assert_eq!(read(std::slice::from_ref(&said)).unwrap(), half);
        let (mut reader, mut deltas) = (Gemini.reader(&speaker(), 3), Vec::new());
        let mut next = |event: Value| {
            deltas.clear();
            reader.read(event.to_string().as_bytes(), &mut deltas).unwrap();
            deltas.clone()
        };
        let count = json!({ "usageMetadata": { "promptTokenCount": 7 } });
        let used = Delta::Usage(Usage { input: 7, ..Usage::default() });
        assert_eq!(next(said), half);
        assert_eq!(next(count.clone()), std::slice::from_ref(&used));
        assert_eq!(next(finish("STOP")), []);
        let part = Delta::Part(Part::text("half"));
        assert_eq!(next(count.clone()), [used, part, Delta::Stop(StopReason::Done)]);
        assert_eq!(next(count), []);
        reader.end(&mut deltas);
        assert_eq!(deltas, []);
    }

    #[test]
    fn the_reason_for_the_end_is_understood() {
        let filtered =
            ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"];
        let filtered =
            filtered.iter().chain(&["IMAGE_SAFETY"]).map(|it| (*it, StopReason::Filtered));
        let others = [
            ("STOP", StopReason::Done),
            ("MAX_TOKENS", StopReason::Length),
            ("SOMETHING_NEW", StopReason::Done),
        ];
        for (reason, expected) in filtered.chain(others) {
            let deltas = read(&[finish(reason)]).unwrap();
            assert_eq!(deltas, [Delta::Stop(expected)], "{reason}");
        }
        let call = parts(json!([{ "functionCall": { "name": "look" } }]));
        let deltas = read(&[call, finish("MAX_TOKENS")]).unwrap();
        assert_eq!(deltas.last(), Some(&Delta::Stop(StopReason::Length)));
    }

    #[test]
    fn an_answer_that_went_wrong_may_be_asked_for_again() {
        for reason in [
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MISSING_THOUGHT_SIGNATURE",
        ] {
            let error = read(&[finish(reason)]).unwrap_err();
            assert_eq!(error.trouble, Trouble::Broken);
            assert!(error.message.ends_with(&format!("{reason}: so it is")), "{error}");
        }
    }

    #[test]
    fn a_blocked_prompt_is_refused_with_its_reason() {
        let harmless = json!({ "promptFeedback": { "safetyRatings": [] } });
        assert_eq!(read(&[harmless]).unwrap(), []);
        let error = read(&[json!({ "promptFeedback": { "blockReason": "BLOCKLIST" } })]);
        let error = error.unwrap_err();
        assert_eq!(error.trouble, Trouble::Refused);
        assert!(error.message.contains("BLOCKLIST"), "{error}");
    }

    #[test]
    fn an_error_in_mid_answer_keeps_its_kind() {
        let long = "The input token count (1196265) exceeds the maximum number of tokens allowed.";
        for (code, status, message, expected) in [
            (429, "RESOURCE_EXHAUSTED", "slow down", Trouble::Busy),
            (429, "", "Too many tokens, please wait before trying again.", Trouble::Busy),
            (0, "UNAVAILABLE", "too many tokens", Trouble::Busy),
            (503, "UNAVAILABLE", "overloaded", Trouble::Busy),
            (0, "INTERNAL", "oh", Trouble::Busy),
            (502, "", "oh", Trouble::Busy),
            (401, "UNAUTHENTICATED", "who?", Trouble::Unauthorized),
            (403, "PERMISSION_DENIED", "no", Trouble::Unauthorized),
            (404, "NOT_FOUND", "where?", Trouble::NotFound),
            (400, "INVALID_ARGUMENT", long, Trouble::TooLong),
            (400, "INVALID_ARGUMENT", "what?", Trouble::Refused),
        ] {
            let error = json!({ "code": code, "status": status, "message": message });
            let error = read(&[json!({ "error": error })]).unwrap_err();
            assert_eq!(error, ModelError::new(expected, message));
        }
    }

    #[test]
    fn an_error_may_say_when_to_try_again() {
        let wait = |delay: &str, message: &str| {
            let details =
                json!([{ "@type": "Help" }, { "@type": "RetryInfo", "retryDelay": delay }]);
            let error = json!({ "code": 429, "message": message, "details": details });
            read(&[json!({ "error": error })]).unwrap_err().retry_after
        };
        assert_eq!(wait("34s", "Please retry in 34.07s."), Some(Duration::from_secs(34)));
        assert_eq!(wait("1.5s", ""), Some(Duration::from_millis(1500)));
        assert_eq!(wait("", "Please retry in 7s."), Some(Duration::from_secs(7)));
        assert_eq!(wait("soon", "slow down"), None);
    }
}
