//! What a conversation has come to: all that a rehearsal knows.

use std::{collections::HashMap, sync::Arc};

use adjutant_core::{Message, Origin, Request, ToolCall, ToolChoice, ToolResult};

use super::root::HEADING;

/// A conversation, as far as it is about the survey at hand.
pub(crate) struct Conversation<'a> {
    /// The words it began with.
    pub(crate) task: String,
    /// How often tools were called; the calls of one message count as one.
    pub(crate) rounds: usize,
    /// What was called and what came of it, in order.
    pub(crate) exchanges: Vec<Exchange<'a>>,
    /// What the runtime told of background children.
    pub(crate) notices: String,
    /// How many background children have ended.
    pub(crate) ended: usize,
    /// Whether the last answer was words alone.
    pub(crate) has_waited: bool,
    request: Request<'a>,
}

/// A call and its result.
pub(crate) struct Exchange<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) result: &'a ToolResult,
}

impl<'a> Conversation<'a> {
    /// Reads the conversation of a request.
    pub(crate) fn read(request: &Request<'a>) -> Self {
        let messages = &request.messages[beginning(request.messages)..];
        let mut read = Self {
            task: String::new(),
            rounds: 0,
            exchanges: exchanges(messages),
            notices: String::new(),
            ended: 0,
            has_waited: false,
            request: *request,
        };
        for message in messages {
            match &**message {
                Message::User { origin: Origin::Runtime { ended }, .. } => {
                    read.ended += ended.len();
                    read.notices += &format!("{}\n", message.text());
                }
                Message::User { .. } if read.task.is_empty() => read.task = message.text(),
                Message::Assistant { .. } => {
                    read.has_waited = message.calls().next().is_none();
                    read.rounds += usize::from(!read.has_waited);
                }
                Message::User { .. } | Message::Tools { .. } => {}
            }
        }
        read
    }

    /// Reports whether a tool can be called.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.request.tools.iter().any(|offered| offered.name == tool)
    }

    /// Reports whether this answer has to be the last.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.request.choice == ToolChoice::None
    }

    /// Returns what came of the calls of a tool.
    pub(crate) fn calls_of<'b>(&'b self, tool: &'b str) -> impl Iterator<Item = &'b Exchange<'a>> {
        self.exchanges.iter().filter(move |exchange| exchange.call.name == tool)
    }
}

impl Exchange<'_> {
    /// Returns an argument of the call.
    pub(crate) fn argument(&self, name: &str) -> &str {
        self.call.arguments[name].as_str().unwrap_or_default()
    }

    /// Returns what the tool said, or the first line of why it failed.
    pub(crate) fn text(&self) -> Result<&str, &str> {
        let text = self.result.text.as_str();
        if self.result.failed {
            Err(text.lines().next().unwrap_or("no reason given"))
        } else {
            Ok(text)
        }
    }
}

/// Finds where the survey at hand begins: whoever says something after a survey was
/// reported wants another.
fn beginning(messages: &[Arc<Message>]) -> usize {
    let is_wish = |message: &Message| {
        matches!(message, Message::User { origin: Origin::Person | Origin::Parent, .. })
    };
    let is_report = |message: &Message| {
        matches!(message, Message::Assistant { .. }) && message.text().starts_with(HEADING)
    };
    let last_wish = messages.iter().rposition(|message| is_wish(message)).unwrap_or(0);
    messages[..last_wish].iter().rposition(|message| is_report(message)).map_or(0, |last| last + 1)
}

fn exchanges(messages: &[Arc<Message>]) -> Vec<Exchange<'_>> {
    let results = messages.iter().flat_map(|message| match &**message {
        Message::Tools { results } => results.as_slice(),
        Message::User { .. } | Message::Assistant { .. } => &[],
    });
    let results: HashMap<_, _> = results.map(|result| (&result.call, result)).collect();
    let calls = messages.iter().flat_map(|message| message.calls());
    calls.filter_map(|call| results.get(&call.id).map(|result| Exchange { call, result })).collect()
}
