//! A conversation made of any bytes.

use std::sync::Arc;

use adjutant_core::{Image, Message, Native, Origin, Part, ToolCall, ToolResult};
use serde_json::{Value, json};

/// Texts that writers stumble over.
const ODD: [&str; 12] = [
    "",
    " ",
    "\n",
    "\"",
    "\\",
    "}]}",
    ",",
    "\0",
    "é\u{2028}\u{feff}",
    "call_1",
    "a.b:0",
    "a text that is longer than any id may be, which is forty or sixty-four bytes",
];

/// Bytes that decide, and are followed by zeros.
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    /// The model that is spoken to.
    pub(super) origin: Arc<str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, origin: "".into() }
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        let Some((byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        usize::from(*byte) % end
    }

    pub(super) fn number(&mut self) -> u64 {
        [0, 1, 15, 99, 2048, 1 << 32, u64::MAX - 1, u64::MAX][self.below(8)]
    }

    pub(super) fn text(&mut self) -> String {
        let size = self.below(40);
        if size < ODD.len() {
            return ODD[size].to_owned();
        }
        let (text, rest) = self.bytes.split_at(size.min(self.bytes.len()));
        self.bytes = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    pub(super) fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => self.number().into(),
            2 => (self.below(2) == 0).into(),
            3 => self.text().into(),
            4 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.below(3)).map(|_| (self.text(), self.value(depth - 1))).collect(),
        }
    }

    /// Makes a conversation. Somebody else than the model begins it.
    pub(super) fn messages(&mut self) -> Vec<Arc<Message>> {
        let first = Arc::new(self.user());
        let more = (0..self.below(7)).map(|_| Arc::new(self.message()));
        [first].into_iter().chain(more).collect()
    }

    fn user(&mut self) -> Message {
        let parts = (0..self.below(5)).map(|_| self.part()).collect();
        Message::User { origin: Origin::Person, parts }
    }

    fn message(&mut self) -> Message {
        let count = self.below(5);
        match self.below(3) {
            0 => self.user(),
            1 => Message::Assistant { parts: (0..count).map(|_| self.part()).collect() },
            _ => Message::Tools { results: (0..count).map(|_| self.result()).collect() },
        }
    }

    fn part(&mut self) -> Part {
        let text = self.text();
        match self.below(4) {
            0 => Part::Text { text, native: self.native() },
            1 => Part::Reasoning { text, native: self.native() },
            2 => Part::Image(self.image()),
            _ => {
                let (id, arguments) = (self.text().into(), self.value(3));
                Part::Call(ToolCall { id, name: text, arguments, native: self.native() })
            }
        }
    }

    /// Makes what the model itself wrote, or another, whose words may be no JSON at all.
    fn native(&mut self) -> Option<Native> {
        let kinds = ["text", "thinking", "reasoning", "message", "function_call", "x"];
        match self.below(3) {
            0 => None,
            1 => Some(Native { origin: "another/model".into(), json: self.text().into() }),
            _ => {
                let kind = kinds[self.below(kinds.len())];
                let json = json!({ "type": kind, "text": self.text(), "more": self.value(2) });
                Some(Native { origin: Arc::clone(&self.origin), json: json.to_string().into() })
            }
        }
    }

    fn image(&mut self) -> Image {
        Image { media_type: self.text(), data: self.text().into() }
    }

    fn result(&mut self) -> ToolResult {
        let (call, text) = (self.text().into(), self.text());
        let images = (0..self.below(3)).map(|_| self.image()).collect();
        ToolResult { call, text, images, failed: self.below(2) == 0, facts: Vec::new() }
    }
}
