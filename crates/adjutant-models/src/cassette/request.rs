//! What makes two requests the same.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use adjutant_core::{Message, ModelInfo, Origin, Part, Request, ToolResult};
use serde_json::Value;

use super::{
    file::{Choice, Offer},
    normal::{Ids, Normal},
    redact::KEY,
};

/// A request, as far as it has to be the same in a replay. How long the answer may be is
/// not in it: that follows from the budget.
#[derive(Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) manner: Arc<Manner>,
    pub(super) choice: Choice,
    pub(super) digest: Digest,
}

/// What is asked, and with which tools at hand.
#[derive(PartialEq)]
pub(super) struct Manner {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) tools: Vec<Offer>,
    pub(super) schema: Option<Value>,
}

/// Stands for a whole conversation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    /// Returns what stands for the conversation with one message more.
    pub(super) fn with(self, message: &Message) -> Self {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        // Plain data, which can always be written.
        serde_json::to_string(message).unwrap_or_default().hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Manner {
    pub(super) fn of(normal: &Normal, model: &ModelInfo, request: &Request<'_>) -> Self {
        Self {
            model: model.name.to_string(),
            system: normal.words(&Ids::default(), request.system),
            tools: request.tools.iter().map(|tool| Offer::new(normal, tool)).collect(),
            schema: request.schema.map(|schema| normal.value(schema)),
        }
    }
}

/// Returns a request in lines for people, with those messages of it that are new.
pub(super) fn lines(asked: &Asked, new: &[Message]) -> Vec<String> {
    let Manner { model, system, tools, schema } = &*asked.manner;
    let mut lines = Vec::new();
    new.iter().for_each(|message| tell_message(&mut lines, message));
    if asked.choice == Choice::None {
        lines.push("no tool may be called".to_owned());
    }
    lines.extend(schema.iter().map(|schema| format!("schema: {schema}")));
    lines.push(format!("model: {model}"));
    tell(&mut lines, "system", system);
    let tools = tools.iter();
    lines.extend(tools.map(|Offer { name, parameters }| format!("tool: {name} {parameters}")));
    lines
}

fn tell_message(lines: &mut Vec<String>, message: &Message) {
    let who = match message {
        Message::Tools { results } => {
            return results.iter().for_each(|result| tell_result(lines, result));
        }
        Message::Assistant { .. } => "model".to_owned(),
        Message::User { origin, .. } => match origin {
            Origin::Person => "person".to_owned(),
            Origin::Parent => "parent".to_owned(),
            Origin::Agent { path } => path.to_string(),
            Origin::Runtime { .. } => "runtime".to_owned(),
        },
    };
    for part in message.parts() {
        match part {
            Part::Text { text, .. } => tell(lines, &who, text),
            Part::Reasoning { text, .. } => tell(lines, &format!("{who} (reasoning)"), text),
            Part::Image(image) => lines.push(format!("{who}: {} {}", image.media_type, image.data)),
            Part::Call(call) => {
                lines.push(format!("{who} calls {} {} {}", call.id, call.name, call.arguments));
            }
        }
    }
}

fn tell_result(lines: &mut Vec<String>, result: &ToolResult) {
    let failed = if result.failed { " (failed)" } else { "" };
    tell(lines, &format!("result {}{failed}", result.call), &result.text);
    let images = result.images.iter();
    lines.extend(images.map(|image| format!("image: {} {}", image.media_type, image.data)));
}

fn tell(lines: &mut Vec<String>, who: &str, text: &str) {
    lines.extend(text.split('\n').map(|line| format!("{who}: {line}")));
}

/// Reports whether lines are the same if what stands for a key in the recorded ones may be
/// any key in the others: whoever replays need not have the key.
pub(super) fn are_same_but_for_keys(recorded: &[String], asked: &[String]) -> bool {
    let same = |(recorded, asked): (&String, &String)| is_same_but_for_keys(recorded, asked);
    let has_keys = recorded.iter().any(|line| line.contains(KEY));
    has_keys && recorded.len() == asked.len() && recorded.iter().zip(asked).all(same)
}

fn is_same_but_for_keys(recorded: &str, asked: &str) -> bool {
    let Some((before, recorded)) = recorded.split_once(KEY) else { return recorded == asked };
    let Some(asked) = asked.strip_prefix(before) else { return false };
    let keys = asked.char_indices().take_while(|(_, c)| !c.is_whitespace());
    let mut ends = keys.map(|(at, c)| at + c.len_utf8());
    ends.any(|end| is_same_but_for_keys(recorded, &asked[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_may_be_any_word() {
        let same = is_same_but_for_keys;
        assert!(same("a", "a") && !same("a", "b"));
        assert!(same("key=[key]; [key].", "key=hunter2; swordfish."));
        assert!(same("key=[key]", "key=[key]"));
        assert!(!same("key=[key]", "key="));
        assert!(!same("key=[key] end", "key=two words end"));
        assert!(!same("key=[key]", "keys=hunter2"));
    }
}
