//! Answers of Responses.

use serde_json::Value;

use super::reading;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "responses",
    words: &[
        "data: {\"type\":\"response.completed\",\"response\":{}}\n\n",
        "data: {\"type\":\"response.incomplete\",\"response\":{}}\n\n",
        "\"type\":\"response.output_item.done\"",
        "\"type\":\"function_call\"",
        "\"type\":\"reasoning\"",
        "\"type\":\"message\"",
        "\"output_index\":0",
        "\"output_index\":1",
        "\"call_id\":\"c1\"",
        "\"call_id\":\"\"",
        "\"call_id\":\"call_3_1\"",
        "\"arguments\":\"{\"",
        "\"summary\":[]",
        "\"incomplete_details\":{\"reason\":\"content_filter\"},",
        "\\\"",
        "\\u0000",
    ],
    check: |input| reading::check(input, &["openai-responses"], is_end),
};

fn is_end(event: &Value) -> bool {
    event["type"] == "response.completed" || event["type"] == "response.incomplete"
}
