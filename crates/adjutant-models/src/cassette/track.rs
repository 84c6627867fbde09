//! What there is to be played to one agent.

use std::{collections::HashMap, sync::Arc};

use adjutant_core::{AgentPath, Message, Part};

use super::{
    Cassette,
    conversation::{Conversation, News, joined},
    difference::difference,
    file::Exchange,
    normal::{Ids, Normal},
    request::{Asked, Digest, Manner, are_same_but_for_keys, lines},
};
use crate::brief::brief;

/// What there is for an agent, and how far the agent is.
#[derive(Default)]
pub(super) struct Track {
    pub(super) records: Vec<Record>,
    pub(super) ids: Ids,
    /// Stands for the conversation so far.
    pub(super) digest: Digest,
    conversation: Conversation,
}

/// An exchange that was recorded.
pub(super) struct Record {
    asked: Asked,
    pub(super) exchange: Exchange,
    is_used: bool,
}

/// Puts the exchanges of each agent together, with what their requests were.
pub(super) fn tracks(cassette: Cassette) -> HashMap<AgentPath, Track> {
    let Cassette { systems, tools, agents, .. } = cassette;
    let mut tracks: HashMap<AgentPath, Track> = HashMap::new();
    for stretch in agents {
        let manner = Arc::new(Manner {
            model: stretch.model,
            system: systems[stretch.system - 1].0.clone(),
            tools: tools[stretch.tools - 1].clone(),
            schema: stretch.schema,
        });
        let track = tracks.entry(stretch.agent).or_default();
        stretch.exchanges.into_iter().for_each(|exchange| track.record(&manner, exchange));
    }
    tracks.values_mut().for_each(|track| track.digest = Digest::default());
    tracks
}

impl Track {
    /// Adds an exchange.
    fn record(&mut self, manner: &Arc<Manner>, exchange: Exchange) {
        let before = if exchange.anew { Digest::default() } else { self.digest };
        let digest = exchange.heard.iter().fold(before, |digest, heard| digest.with(&heard.0));
        let asked = Asked { manner: Arc::clone(manner), choice: exchange.calls, digest };
        let parts = exchange.said.iter().map(|part| part.0.clone()).collect();
        let is_whole = exchange.end.stop().is_some();
        self.digest = if is_whole { digest.with(&Message::Assistant { parts }) } else { digest };
        self.records.push(Record { asked, exchange, is_used: false });
    }

    /// Takes in the conversation and returns the messages that are new, the last reply aside.
    pub(super) fn hear(&mut self, normal: &Normal, messages: &[Arc<Message>]) -> Vec<Message> {
        let new = match self.conversation.look(messages) {
            News::More(new) => new,
            News::All(new) => {
                (self.ids, self.digest) = Default::default();
                new
            }
        };
        let mut new = joined(new.iter().map(|new| normal.message(&mut self.ids, new)));
        self.digest = new.iter().fold(self.digest, Digest::with);
        if let Some(Message::Assistant { .. }) = new.first() {
            new.remove(0);
        }
        new
    }

    /// Uses the first record of a request that was not used yet.
    pub(super) fn find(&mut self, asked: &Asked, new: &[Message], turn: u64) -> Option<usize> {
        let is_it = |record: &Record| !record.is_used && record.asked == *asked;
        let place = self.records.iter().position(is_it).or_else(|| {
            let nearest = self.nearest(turn)?;
            let recorded = self.records[nearest].lines();
            are_same_but_for_keys(&recorded, &lines(asked, new)).then_some(nearest)
        })?;
        let record = &mut self.records[place];
        record.is_used = true;
        self.digest = record.asked.digest;
        Some(place)
    }

    /// Describes what was not used.
    pub(super) fn unused(&self, agent: &AgentPath) -> Vec<String> {
        let unused = self.records.iter().filter(|record| !record.is_used);
        unused.map(|record| record.describe(agent)).collect()
    }

    fn nearest(&self, turn: u64) -> Option<usize> {
        let is_left = |(_, record): &(usize, &Record)| !record.is_used;
        let mut left = self.records.iter().enumerate().filter(is_left);
        let first = left.clone().next();
        let same = left.find(|(_, record)| record.exchange.turn == turn);
        same.or(first).map(|(place, _)| place)
    }

    pub(super) fn difference(&self, asked: &Asked, new: &[Message], turn: u64) -> String {
        let Some(nearest) = self.nearest(turn) else {
            return match self.records.len() {
                0 => "Nothing was recorded of this agent.".to_owned(),
                count => format!("All {count} exchanges of this agent have been played."),
            };
        };
        let record = &self.records[nearest];
        let (recorded, asked) = (record.lines(), lines(asked, new));
        if recorded == asked {
            return "What it was told before that differs.".to_owned();
        }
        let turn = record.exchange.turn;
        let difference = difference(&recorded, &asked);
        format!("The nearest is its turn {turn}, recorded (-) and asked (+):\n{difference}")
    }
}

impl Record {
    /// Reports whether the model called anything.
    pub(super) fn has_calls(&self) -> bool {
        self.exchange.said.iter().any(|part| matches!(part.0, Part::Call(_)))
    }

    fn lines(&self) -> Vec<String> {
        let heard: Vec<_> = self.exchange.heard.iter().map(|heard| heard.0.clone()).collect();
        lines(&self.asked, &heard)
    }

    fn describe(&self, agent: &AgentPath) -> String {
        let parts = self.exchange.said.iter().map(|part| part.0.clone()).collect();
        let said = Message::Assistant { parts };
        let calls: Vec<_> = said.calls().map(|call| call.name.as_str()).collect();
        let what = match (said.text(), calls.is_empty()) {
            (text, false) if text.is_empty() => format!("calls {}", calls.join(", ")),
            (text, _) => format!("“{}”", brief(&text, 40)),
        };
        format!("turn {} of `{agent}`: {what}", self.exchange.turn)
    }
}
