//! Gemini's answers.

use serde_json::Value;

use super::reading;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "gemini",
    words: &[
        "\"finishReason\":\"STOP\"",
        "\"finishReason\":\"MAX_TOKENS\"",
        "\"finishReason\":\"SAFETY\"",
        "\"functionCall\":{\"name\":\"look\",\"id\":\"c1\"}",
        "\"functionCall\":{\"name\":\"look\"}",
        "\"thought\":true,",
        "\"thoughtSignature\":\"s\"",
        "\"usageMetadata\":{\"promptTokenCount\":1},",
        "{\"text\":\"\"},",
        "{},",
        "{\"executableCode\":{}},",
        "\"error\":{\"code\":429},",
        "\\\"",
        "\\u0000",
    ],
    check: |input| reading::check(input, &["gemini"], is_end),
};

fn is_end(event: &Value) -> bool {
    let mut candidates = event["candidates"].as_array().into_iter().flatten();
    candidates.any(|candidate| candidate["finishReason"].is_string())
}
