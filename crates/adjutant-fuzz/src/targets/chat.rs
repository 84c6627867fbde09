//! Answers of Chat Completions.

use serde_json::Value;

use super::reading;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "chat",
    words: &[
        "data: [DONE]\n\n",
        "\"finish_reason\":\"tool_calls\"",
        "\"finish_reason\":\"stop\"",
        "\"finish_reason\":\"length\"",
        "\"finish_reason\":null",
        "\"index\":0,",
        "\"index\":1,",
        "\"id\":\"c1\",",
        "\"tool_calls\":[{}]",
        "\"reasoning_content\":\"hm\",",
        "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"hm\",\"index\":0}],",
        "\"refusal\":\"no\",",
        "\"usage\":{\"prompt_tokens\":1},",
        "\"error\":{\"message\":\"try again in 1s\"},",
        "\\\"",
        "\\u0000",
    ],
    check: |input| reading::check(input, &["openai", "deepseek", "mistral"], is_end),
};

fn is_end(event: &Value) -> bool {
    let mut choices = event["choices"].as_array().into_iter().flatten();
    choices.any(|choice| choice["finish_reason"].is_string())
}
