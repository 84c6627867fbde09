//! What was noted, put into the form that is kept: the same for every run that goes the
//! same way.

use std::{path::Path, sync::Arc};

use adjutant_core::{AgentPath, ModelError, ModelInfo};

use super::{
    Cassette,
    conversation::joined,
    file::{End, Exchange, Failure, Found, Info, Offer, Stretch},
    fold::Folded,
    natural,
    normal::{Ids, Normal},
    recorder::{Ending, Heard, Log, Manner, Notes, Take},
    redact::Redactor,
};

/// Makes a cassette of notes.
pub(super) fn cassette(notes: &Notes, directory: &Path, redactor: Redactor) -> Cassette {
    let normal = Normal::new(directory, redactor);
    let models = notes.models.iter().map(|(name, found)| {
        let found = match found {
            Ok(info) => Found::Model(Info::from(info)),
            Err(error) => Found::Failed(failure(&normal, &Ids::default(), error)),
        };
        (normal.redact(name), found)
    });
    let mut saving = Saving { cassette: Cassette::new(models.collect()), normal, notes };
    let mut agents: Vec<_> = notes.agents.iter().collect();
    agents.sort_by_cached_key(|(path, _)| natural(path));
    agents.into_iter().for_each(|(path, log)| saving.agent(path, log));
    if notes.is_side_by_side {
        saving.cassette.order = runs(notes.steps.iter().flatten());
    }
    saving.cassette
}

struct Saving<'a> {
    cassette: Cassette,
    normal: Normal,
    notes: &'a Notes,
}

impl Saving<'_> {
    fn agent(&mut self, path: &AgentPath, log: &Log) {
        let mut ids = Ids::default();
        let mut last: Option<&Arc<Manner>> = None;
        for take in &log.takes {
            if !last.is_some_and(|last| Arc::ptr_eq(last, &take.manner)) {
                let stretch = self.stretch(path, &take.manner);
                self.cassette.agents.push(stretch);
            }
            last = Some(&take.manner);
            let exchange = self.exchange(&mut ids, take);
            if let Some(stretch) = self.cassette.agents.last_mut() {
                stretch.exchanges.push(exchange);
            }
        }
    }

    fn stretch(&mut self, agent: &AgentPath, manner: &Manner) -> Stretch {
        let system = self.normal.words(&Ids::default(), &manner.system);
        let tools = manner.tools.iter().map(|tool| Offer::new(&self.normal, tool)).collect();
        Stretch {
            agent: agent.clone(),
            model: manner.model.to_string(),
            system: number(&mut self.cassette.systems, Folded(system)),
            tools: number(&mut self.cassette.tools, tools),
            schema: manner.schema.as_ref().map(|schema| self.normal.value(schema)),
            exchanges: Vec::new(),
        }
    }

    fn exchange(&self, ids: &mut Ids, take: &Take) -> Exchange {
        let Self { normal, .. } = self;
        if take.is_anew {
            *ids = Ids::default();
        }
        let heard = joined(take.new.iter().map(|new| normal.message(ids, new)));
        let Heard { parts, shown, thought, usage } = &take.heard;
        let end = self.end(ids, &take.end);
        // What was shown of a complete answer is in its parts.
        let seen = |text: &String| {
            let is_kept = end.stop().is_none() && !text.is_empty();
            is_kept.then(|| Folded(normal.words(ids, text)))
        };
        Exchange {
            turn: take.turn,
            calls: take.choice.into(),
            anew: take.is_anew,
            heard: heard.into_iter().map(Folded).collect(),
            said: normal.said(ids, parts).into_iter().map(Folded).collect(),
            shown: seen(shown),
            thought: seen(thought),
            usage: *usage,
            end,
        }
    }

    fn end(&self, ids: &Ids, end: &Ending) -> End {
        match end {
            Ending::Stop(stop) => (*stop).into(),
            Ending::Over => End::BrokenOff,
            // If nobody asked anything after it, it was the run that was stopped.
            Ending::Cut(asked) if *asked == self.notes.asked => End::Stopped,
            Ending::Cut(_) => End::Cut,
            Ending::Failed(error) => End::Failed(failure(&self.normal, ids, error)),
        }
    }
}

fn failure(normal: &Normal, ids: &Ids, error: &ModelError) -> Failure {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Failure {
        trouble: error.trouble,
        message: Folded(normal.words(ids, &error.message)),
        retry_after_ms: error.retry_after.map(millis),
    }
}

/// Counts how many steps of whom follow one another.
fn runs<'a>(steps: impl Iterator<Item = &'a AgentPath>) -> Vec<(AgentPath, u64)> {
    let mut runs: Vec<(AgentPath, u64)> = Vec::new();
    for agent in steps {
        match runs.last_mut() {
            Some((last, count)) if last == agent => *count += 1,
            _ => runs.push((agent.clone(), 1)),
        }
    }
    runs
}

/// Returns the number of something that is kept once.
fn number<T: PartialEq>(kept: &mut Vec<T>, new: T) -> usize {
    let place = kept.iter().position(|kept| *kept == new);
    place.map_or_else(
        || {
            kept.push(new);
            kept.len()
        },
        |place| place + 1,
    )
}

impl From<&ModelInfo> for Info {
    fn from(info: &ModelInfo) -> Self {
        let ModelInfo { name, provider, window, max_output, price } = info.clone();
        let (name, provider) = (name.to_string(), provider.to_string());
        Self { name, provider, window, max_output, price }
    }
}
