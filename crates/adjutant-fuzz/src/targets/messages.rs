//! Answers of Messages.

use super::reading;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "messages",
    words: &[
        "data: {\"type\":\"message_stop\"}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "\"type\":\"tool_use\"",
        "\"type\":\"thinking\"",
        "\"type\":\"text\"",
        "\"index\":0",
        "\"index\":1",
        "\"id\":\"\"",
        "\"signature\":\"s\"",
        "\"citations\":[{}]",
        "\"input\":[]",
        "\"stop_reason\":\"refusal\"",
        "\"partial_json\":\"{\"",
        "\\\"",
        "\\u0000",
    ],
    check: |input| reading::check(input, &["anthropic"], |it| it["type"] == "message_stop"),
};
