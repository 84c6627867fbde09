//! Notices an agent that goes round in circles.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

use adjutant_core::{Message, ToolResult};

/// How often in a row an agent has done the same thing and got the same.
#[derive(Default)]
pub(crate) struct Habit {
    last: u64,
    times: usize,
}

impl Habit {
    /// So many identical turns in a row are enough.
    pub(crate) const LIMIT: usize = 4;

    /// Looks at a turn and returns how often in a row it has been taken.
    pub(crate) fn observe(
        &mut self,
        message: Option<&Arc<Message>>,
        results: &[ToolResult],
    ) -> usize {
        let mut hasher = DefaultHasher::new();
        if let Some(message) = message {
            message.text().hash(&mut hasher);
            for call in message.calls() {
                call.name.hash(&mut hasher);
                call.arguments.hash(&mut hasher);
            }
        }
        for result in results {
            result.text.hash(&mut hasher);
        }
        let turn = hasher.finish();
        self.times = if turn == self.last { self.times + 1 } else { 1 };
        self.last = turn;
        self.times
    }
}
