//! Models that say again what was recorded.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::{
    AgentPath, Delta, Model, ModelError, ModelInfo, Models, Part, Request, Trouble, WireLog,
};
use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};

use super::{
    Cassette,
    file::{End, Exchange, Failure, Found, Info},
    fold::Folded,
    follow::{FollowSteps, Step},
    natural,
    normal::{Ids, Normal},
    order::Order,
    redact::Redactor,
    request::{Asked, Manner},
    track::{Track, tracks},
};
use crate::{
    Unused,
    script::Severity,
    speech::{Grain, fragments},
};

/// Finds the models of a cassette. Each says again what was recorded, to the agent it said
/// it to, when that agent asks the same again. The journal has to be [`Followed`], as when
/// it was recorded, or else agents that work side by side wait for one another in vain.
///
/// [`Followed`]: adjutant_core::Followed
pub struct Player {
    deck: Arc<Deck>,
    models: BTreeMap<String, Found>,
}

struct Deck {
    name: Arc<str>,
    normal: Normal,
    order: Order,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tracks: HashMap<AgentPath, Track>,
    /// What was asked for first that was not recorded.
    astray: Option<String>,
}

impl Player {
    /// Plays a cassette, of which messages speak by its name, to a tree that works in a
    /// directory.
    pub fn new(cassette: Cassette, name: &str, directory: &Path, redactor: Redactor) -> Self {
        let order = Order::new(&cassette.order);
        let models = cassette.models.clone();
        let state = Mutex::new(State { tracks: tracks(cassette), astray: None });
        let normal = Normal::new(directory, redactor);
        Self { deck: Arc::new(Deck { name: name.into(), normal, order, state }), models }
    }

    /// Returns what was asked for first that was not recorded, and how it differs.
    pub fn astray(&self) -> Option<String> {
        self.deck.state().astray.clone()
    }

    /// Returns the exchanges nobody asked for. When a replay has gone astray they mean
    /// nothing.
    pub fn unused(&self) -> Option<Unused> {
        let State { tracks, astray } = &*self.deck.state();
        let mut tracks: Vec<_> = tracks.iter().collect();
        tracks.sort_by_cached_key(|(agent, _)| natural(agent));
        let replies: Vec<_> =
            tracks.into_iter().flat_map(|(agent, track)| track.unused(agent)).collect();
        let (model, severity) = (Arc::clone(&self.deck.name), Severity::Warn);
        (astray.is_none() && !replies.is_empty()).then_some(Unused { model, severity, replies })
    }
}

impl Models for Player {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let has_name = |found: &&Found| matches!(found, Found::Model(info) if info.name == name);
        let found = self.models.get(name).or_else(|| self.models.values().find(has_name));
        match found {
            Some(Found::Model(info)) => {
                Ok(Arc::new(Played { info: info.into(), deck: Arc::clone(&self.deck) }))
            }
            Some(Found::Failed(failure)) => Err(self.deck.error(&Ids::default(), failure)),
            None => {
                let names: Vec<_> = self.models.keys().map(|name| format!("`{name}`")).collect();
                let (cassette, names) = (&self.deck.name, names.join(", "));
                let message = format!("{cassette} has no model `{name}`; there are: {names}");
                Err(ModelError::new(Trouble::NotFound, message))
            }
        }
    }
}

impl FollowSteps for Player {
    fn follow(&self, step: Step, agent: AgentPath) -> BoxFuture<'static, ()> {
        let deck = Arc::clone(&self.deck);
        Box::pin(async move {
            match step {
                Step::Heard => {}
                Step::Acted => deck.order.next(&agent).await,
                Step::Ended => {
                    deck.order.next(&agent).await;
                    deck.order.ended(&agent);
                }
            }
        })
    }
}

struct Played {
    info: ModelInfo,
    deck: Arc<Deck>,
}

impl Model for Played {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        match self.deck.answer(&self.info, &request) {
            Ok(answer) => stream::unfold(answer, Answer::next).boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

/// An answer that is being played.
struct Answer {
    turn: Turn,
    said: VecDeque<Delta>,
    end: Option<Last>,
}

/// What comes at the end of an answer.
enum Last {
    Item(Result<Delta, ModelError>),
    /// Nothing, for ever.
    Silence,
}

/// An agent's turn in the order. It is over when this is gone.
struct Turn {
    deck: Arc<Deck>,
    agent: AgentPath,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.deck.order.answered(&self.agent, self.number);
    }
}

impl Answer {
    async fn next(mut self) -> Option<(Result<Delta, ModelError>, Self)> {
        if let Some(delta) = self.said.pop_front() {
            return Some((Ok(delta), self));
        }
        let Turn { deck, agent, .. } = &self.turn;
        deck.order.next(agent).await;
        match self.end.take()? {
            Last::Item(item) => Some((item, self)),
            Last::Silence => std::future::pending().await,
        }
    }
}

impl Deck {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds what was said to the same request.
    fn answer(
        self: &Arc<Self>,
        model: &ModelInfo,
        request: &Request<'_>,
    ) -> Result<Answer, ModelError> {
        let State { tracks, astray } = &mut *self.state();
        if let Some(astray) = astray {
            return Err(ModelError::new(Trouble::Refused, astray.clone()));
        }
        let track = tracks.entry(request.agent.clone()).or_default();
        let new = track.hear(&self.normal, request.messages);
        let manner = Arc::new(Manner::of(&self.normal, model, request));
        let asked = Asked { manner, choice: request.choice.into(), digest: track.digest };
        let Some(place) = track.find(&asked, &new, request.turn) else {
            let message = self.complain(request, &track.difference(&asked, &new, request.turn));
            self.order.give_up();
            *astray = Some(message.clone());
            return Err(ModelError::new(Trouble::Refused, message));
        };
        let number = place as u64 + 1;
        self.order.asked(request.agent, number);
        let turn = Turn { deck: Arc::clone(self), agent: request.agent.clone(), number };
        if !track.records[place].has_calls() {
            self.order.answered(request.agent, number);
        }
        Ok(self.play(turn, &track.ids, &track.records[place].exchange))
    }

    fn play(&self, turn: Turn, ids: &Ids, exchange: &Exchange) -> Answer {
        let parts: Vec<Part> = exchange.said.iter().map(|part| part.0.clone()).collect();
        let parts = self.normal.restored(ids, &parts);
        let text = |text: &Folded<String>| self.normal.restore(ids, &text.0);
        let mut said = VecDeque::new();
        if exchange.end.stop().is_some() {
            said.extend(fragments(&parts, Grain::Whole));
        }
        said.extend(exchange.thought.as_ref().map(text).map(Delta::Reasoning));
        said.extend(exchange.shown.as_ref().map(text).map(Delta::Text));
        said.extend(parts.into_iter().map(Delta::Part));
        said.extend(exchange.usage.map(Delta::Usage));
        let end = match &exchange.end {
            End::BrokenOff => None,
            End::Cut => Some(Last::Silence),
            End::Stopped => Some(Last::Item(Err(self.stopped(&turn.agent, exchange.turn)))),
            End::Failed(failure) => Some(Last::Item(Err(self.error(ids, failure)))),
            end => end.stop().map(|stop| Last::Item(Ok(Delta::Stop(stop)))),
        };
        Answer { turn, said, end }
    }

    fn error(&self, ids: &Ids, failure: &Failure) -> ModelError {
        ModelError {
            trouble: failure.trouble,
            message: self.normal.restore(ids, &failure.message.0),
            // There is no server that needs a rest.
            retry_after: Some(Duration::ZERO),
        }
    }

    fn stopped(&self, agent: &AgentPath, turn: u64) -> ModelError {
        let message = format!(
            "{} ends here: its run was stopped while `{agent}` waited for an answer in turn {turn}",
            self.name
        );
        ModelError::new(Trouble::Refused, message)
    }

    fn complain(&self, request: &Request<'_>, difference: &str) -> String {
        let Request { agent, turn, .. } = request;
        format!(
            "the replay has left {}: `{agent}` asks in turn {turn} what was not recorded. \
             {difference}",
            self.name
        )
    }
}

impl From<&Info> for ModelInfo {
    fn from(info: &Info) -> Self {
        let Info { name, provider, window, max_output, price } = info.clone();
        Self { name: name.into(), provider: provider.into(), window, max_output, price }
    }
}
