//! A model that is none: a fixed routine that surveys the directory it is run in.
//!
//! It shows what a tree of agents does without a key and without a network. The root
//! lists the directory and gives each area to an agent of its own; each of these looks
//! around, reads what stands out and reports; one of them asks the person what to dwell
//! on. Delegation, tools, question and budgets are real; only the thinking is not.
//!
//! Every step follows from the conversation alone, so a rehearsal can be resumed like any
//! other session and always does the same.

mod answer;
mod conversation;
mod listing;
mod notes;
mod root;
mod step;
mod survey;
mod surveyor;

use std::time::Duration;

use adjutant_core::{
    Delta, Model, ModelError, ModelInfo, Part, Price, Request, StopReason, ToolCall, Usage, WireLog,
};
use futures_util::stream::BoxStream;

use self::{conversation::Conversation, step::Step};
use crate::speech::{self, End, Grain, Speech};

/// How long an answer takes at the most when it is spoken word by word.
const LONGEST: Duration = Duration::from_millis(1_200);

/// A fixed routine in the place of a model.
pub struct Rehearsal {
    info: ModelInfo,
    pace: Pace,
}

/// How fast a rehearsal speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Prompt,
    /// Word by word, so that a person can follow the tree.
    Unhurried,
}

impl Rehearsal {
    /// Makes a rehearsal.
    pub fn new(pace: Pace) -> Self {
        let info = ModelInfo {
            name: "rehearsal/survey".into(),
            provider: "rehearsal".into(),
            window: 200_000,
            max_output: 8_192,
            price: Some(Price::default()),
        };
        Self { info, pace }
    }
}

impl Model for Rehearsal {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let conversation = Conversation::read(&request);
        let step = match surveyor::Area::of_task(&conversation.task) {
            Some(area) => surveyor::next(&area, &conversation, conversation.rounds),
            None => root::next(&conversation),
        };
        let parts = parts(step, request.turn);
        let is_calling = parts.iter().any(|part| matches!(part, Part::Call(_)));
        let stop = if is_calling { StopReason::Calls } else { StopReason::Done };
        let usage = speech::estimate(&request, &parts);
        self.pace.speak(parts, usage, stop).stream()
    }
}

fn parts(step: Step, turn: u64) -> Vec<Part> {
    let calls = step.calls.into_iter().enumerate().map(|(place, (name, arguments))| {
        let id = format!("r{turn}-{}", place + 1).into();
        Part::Call(ToolCall { id, name: name.to_owned(), arguments, native: None })
    });
    std::iter::once(Part::text(step.text)).chain(calls).collect()
}

impl Pace {
    fn speak(self, parts: Vec<Part>, usage: Usage, stop: StopReason) -> Speech {
        let (delay, pause, grain) = match self {
            Self::Prompt => (Duration::ZERO, Duration::ZERO, Grain::Whole),
            Self::Unhurried => {
                let words = u32::try_from(speech::fragments(&parts, Grain::Words).len());
                let pause = LONGEST / words.unwrap_or(u32::MAX).max(48);
                (Duration::from_millis(300), pause, Grain::Words)
            }
        };
        Speech { delay, pause, said: speech::whole(parts, grain, usage, stop), end: End::Over }
    }
}
