//! The agent loop.
//!
//! ```text
//!   task ──▶ hear ──▶ turn ──▶ act ──┬─ called tools ──▶ hear …
//!                                    ├─ children at work, or mail ──▶ wait, hear …
//!                                    ├─ not the JSON it owes ──▶ is told so, hear …
//!                                    └─ nothing more ──▶ completed
//!   a limit reached ──▶ one last turn without tools ──▶ budget_exceeded, timeout
//! ```
//!
//! The root and every agent below it run this loop; there is no other.

use std::{pin::pin, sync::Arc};

use adjutant_core::{
    CallId, Context, EventKind, History, Message, Origin, Outcome, Part, Receipt, Stay, StopReason,
    ToolChoice, Turn,
};
use futures_util::{FutureExt as _, future::FusedFuture as _};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    ChildrenAtEnd, Unattended,
    breaker::Watched,
    dispatch::Plans,
    gauge::Gauge,
    habit::Habit,
    mailbox::{Letter, Mailbox},
    memory::Looks,
    notice,
    places::Places,
    seat::Seat,
    session::Written,
    stop::Stop,
    turn::{self, Reply},
};

/// An agent at work.
pub(crate) struct Agent {
    pub(crate) seat: Arc<Seat>,
    pub(crate) history: History,
    /// Its places among those at work; none while it rests.
    pub(crate) places: Option<Places>,
    pub(crate) gauge: Gauge,
    habit: Habit,
    words: Words,
    pub(crate) looks: Looks,
    pub(crate) watched: Watched,
    /// How often it was told to mend its answer.
    repairs: u32,
    /// The turns it took, and what its calls were seen to do.
    pub(crate) receipt: Receipt,
}

/// What the agent said last.
#[derive(Default)]
struct Words {
    text: String,
    /// Why there is not more of it.
    cut: Option<String>,
}

impl Agent {
    pub(crate) fn new(seat: Arc<Seat>, history: History, places: Places) -> Self {
        Self {
            seat,
            history,
            places: Some(places),
            gauge: Gauge::default(),
            habit: Habit::default(),
            words: Words::default(),
            looks: Looks::default(),
            watched: Watched::default(),
            repairs: 0,
            receipt: Receipt::default(),
        }
    }

    /// Runs the agent until it has nothing more to do, or cannot go on.
    pub(crate) async fn run(&mut self, begun: Written) -> Outcome {
        let seat = Arc::clone(&self.seat);
        let end = {
            let mut live = pin!(self.live(begun));
            tokio::select! {
                biased;
                end = &mut live => end,
                () = seat.entry.clock.expired() => {
                    seat.work.cancel();
                    live.await
                }
            }
        };
        match end {
            Ok(()) => {
                let Words { text, cut } = std::mem::take(&mut self.words);
                Outcome { reason: cut, ..Outcome::completed(text) }
            }
            Err(stop) => self.stop(stop).await,
        }
    }

    /// Makes the outcome of an agent that panicked.
    pub(crate) fn broken(&mut self, why: String) -> Outcome {
        Stop::Panic(why).outcome(std::mem::take(&mut self.words.text))
    }

    async fn live(&mut self, begun: Written) -> Result<(), Stop> {
        begun.await?;
        let task = self.history.messages().last().map(|task| task.text()).unwrap_or_default();
        self.seat.hook_start(&task).await;
        if self.seat.order.context == Context::Summary {
            self.sum_up().await?;
        }
        loop {
            self.hear(self.mailbox().take_urgent()).await?;
            let reply = self.turn().await?;
            if !self.act(reply).await? && !self.expects_more().await? {
                return self.check();
            }
        }
    }

    /// Asks the model what comes next.
    async fn turn(&mut self) -> Result<Reply, Stop> {
        let token = self.seat.work.clone();
        self.seat.entry.purse.take_turn()?;
        self.ask(Turn::Ordinary, &token).await
    }

    async fn ask(&mut self, turn: Turn, token: &CancellationToken) -> Result<Reply, Stop> {
        self.receipt.turns += 1;
        let Self { seat, history, gauge, receipt, .. } = self;
        let number = receipt.turns;
        let choice = match turn {
            Turn::Ordinary => ToolChoice::Free,
            Turn::Last => ToolChoice::None,
        };
        let reply = turn::take(seat, turn::Ask { history, gauge, number, turn, choice, token });
        match reply.await {
            Ok(reply) => Ok(reply),
            Err(turn::Cut { stop, shown }) => {
                self.say(shown, None);
                Err(stop)
            }
        }
    }

    /// Does what the model called, and reports whether it called anything.
    async fn act(&mut self, reply: Reply) -> Result<bool, Stop> {
        let Reply { message, stop, spent } = reply;
        let plans = Plans::make(&self.seat, &message, stop);
        self.say(message.text(), cut(stop));
        let intents: Vec<_> = plans.intents().collect();
        let mut kept = self.note([spent], message, intents).fuse();
        if plans.is_empty() {
            return Ok(kept.await.map(|_| false)?);
        }
        if plans.have_effects() {
            (&mut kept).await?;
        }
        let exhausted = plans.exhausted.clone();
        let results = {
            let mut results = pin!(plans.run(&self.seat, &self.history));
            // What only looks, and does so at once, is kept together with what it saw.
            tokio::select! {
                biased;
                results = &mut results => results?,
                kept = &mut kept => {
                    kept?;
                    results.await?
                }
            }
        };
        results.iter().flat_map(|result| &result.facts).for_each(|fact| self.receipt.note(fact));
        let said = self.history.messages().last().cloned();
        let repeats = self.habit.observe(said.as_ref(), &results);
        let calls = said.iter().flat_map(|said| said.calls());
        self.looks.note(&self.seat, calls, &results);
        let last: Option<CallId> = results.last().map(|result| result.call.clone());
        let seen = self.note([], Message::Tools { results }, []);
        if !kept.is_terminated() {
            kept.await?;
        }
        seen.await?;
        if let Some(exhausted) = exhausted {
            return Err(exhausted.into());
        }
        if repeats >= Habit::LIMIT {
            return Err(Stop::Stuck(repeats));
        }
        self.watch_calls(last.as_ref()).await?;
        self.check().map(|()| true)
    }

    /// Errs when the agent may not go on, nor end well.
    fn check(&self) -> Result<(), Stop> {
        let shared = &self.seat.shared;
        if self.seat.work.is_cancelled() && !self.seat.is_dismissed() {
            return Err(Stop::CalledOff);
        }
        if shared.settings.unattended == Unattended::Fail && shared.is_unanswered() {
            return Err(Stop::Unattended);
        }
        Ok(())
    }

    /// Waits while something may yet be heard, and reports whether it was.
    async fn expects_more(&mut self) -> Result<bool, Stop> {
        let seat = Arc::clone(&self.seat);
        loop {
            if self.hear(self.mailbox().take_all()).await? {
                return Ok(true);
            }
            let waits = seat.shared.settings.children_at_end == ChildrenAtEnd::Await;
            if waits && seat.custody.expects_news() {
                let _waits = seat.entry.waits();
                tokio::select! {
                    arrival = self.arrival() => arrival?,
                    () = seat.custody.stand_still(&seat.entry.clock) => {}
                }
            } else if self.owes_another().await? {
                return Ok(true);
            } else if seat.order.stay == Stay::UntilDone {
                if self.mailbox().close_if_empty() {
                    return Ok(false);
                }
            } else if !self.rest().await? {
                return Ok(false);
            }
        }
    }

    /// Rests until there is something to hear, and reports whether it goes on. It takes up no
    /// place meanwhile, and its time stands still.
    async fn rest(&mut self) -> Result<bool, Stop> {
        let seat = Arc::clone(&self.seat);
        seat.record(vec![EventKind::Rested]).await?;
        self.places = None;
        let told = seat.parent.as_ref().map(|parent| {
            let (from, text) = (Arc::clone(&seat.entry.identity), self.words.text.clone());
            seat.entry.words.end(&text);
            let letter = Letter::Rested { from, text };
            // In one, so that the parent does not leave before it has heard.
            parent.entry.mailbox.post_with(letter, || seat.entry.rest(true))
        });
        if told != Some(Ok(())) {
            seat.entry.rest(true);
        }
        let hold = seat.entry.clock.hold();
        let arrival = self.arrival().await;
        if seat.is_dismissed() {
            return Ok(false);
        }
        arrival?;
        let places = seat.work.run_until_cancelled(seat.entry.places(&seat.shared)).await;
        self.places = Some(places.ok_or(Stop::CalledOff)?);
        drop(hold);
        seat.entry.rest(false);
        Ok(true)
    }

    /// Looks at the answer, if there is a schema it has to fit. Says what is wrong with it,
    /// and reports whether there was anything.
    async fn owes_another(&mut self) -> Result<bool, Stop> {
        let Some(answer) = &self.seat.answer else { return Ok(false) };
        let Words { text, cut } = &mut self.words;
        let mut why = match answer.read(text).await {
            Ok(json) => {
                *text = json;
                self.repairs = 0;
                return Ok(false);
            }
            Err(why) => why,
        };
        if let Some(cut) = cut {
            why = format!("{why}; {cut}");
        }
        self.check()?;
        if self.repairs == self.seat.shared.settings.schema_repairs {
            return Err(Stop::Misfit(why));
        }
        self.repairs += 1;
        self.tell(notice::misfit(&why)).await?;
        Ok(true)
    }

    async fn arrival(&self) -> Result<(), Stop> {
        let arrival = self.seat.work.run_until_cancelled(self.mailbox().arrival());
        arrival.await.ok_or(Stop::CalledOff)
    }

    /// Adds what was heard to the conversation, and reports whether there was
    /// anything new in it.
    async fn hear(&mut self, letters: Vec<Letter>) -> Result<bool, Stop> {
        let messages = notice::messages(&self.seat, letters);
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        let said = messages.iter().map(|message| EventKind::Said { message: Arc::clone(message) });
        self.seat.record(said.collect()).await?;
        for message in &messages {
            self.looks.spoil();
            self.history.push(Arc::clone(message));
        }
        Ok(!messages.is_empty())
    }

    /// Ends an agent that cannot go on; if a limit is all that stops it, after a few
    /// last words.
    async fn stop(&mut self, mut stop: Stop) -> Outcome {
        let is_told = self.seat.entry.cancel.is_cancelled();
        if stop == Stop::CalledOff && !is_told {
            stop = Stop::OutOfTime;
        }
        // Nobody below goes on once the agent is winding up.
        self.seat.work.cancel();
        if stop.allows_last_words()
            && let Err(Stop::CalledOff) = self.last_words(&stop).await
            && self.seat.entry.cancel.is_cancelled()
        {
            stop = Stop::CalledOff;
        }
        let text = std::mem::take(&mut self.words.text);
        match &self.seat.answer {
            Some(answer) if stop.allows_last_words() => match answer.read(&text).await {
                Ok(json) => stop.outcome(json),
                Err(why) => {
                    let reason = format!("{stop}; its last words do not fit the schema: {why}");
                    Outcome { reason: Some(reason), ..stop.outcome(text) }
                }
            },
            _ => stop.outcome(text),
        }
    }

    /// Lets the model sum up, without tools, from what was kept back for it.
    async fn last_words(&mut self, stop: &Stop) -> Result<(), Stop> {
        self.hear(self.mailbox().take_urgent()).await?;
        self.tell(notice::last_words(stop, self.seat.answer.as_ref())).await?;
        self.make_room().await?;
        let clock = Arc::clone(&self.seat.entry.clock);
        let patience = match stop {
            Stop::OutOfTime => Some(clock.last_turn),
            _ => clock.left().map(|left| left + clock.last_turn),
        };
        let token = self.seat.entry.cancel.child_token();
        let reply = {
            let mut ask = pin!(self.ask(Turn::Last, &token));
            let up = async {
                match patience {
                    Some(patience) => sleep(patience).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                reply = &mut ask => reply,
                () = up => {
                    token.cancel();
                    ask.await
                }
            }
        };
        let Reply { message, spent, .. } = reply?;
        self.say(message.text(), None);
        let is_words = |part: &Part| !matches!(part, Part::Call(_));
        let parts = message.parts().iter().filter(|part| is_words(part)).cloned().collect();
        self.note([spent], Message::Assistant { parts }, []).await?;
        Ok(())
    }

    /// Keeps what was said last, for the outcome and for those who look.
    fn say(&mut self, text: String, cut: Option<String>) {
        self.words.say(text, cut);
        self.seat.entry.words.end(&self.words.text);
    }

    /// Adds a message of the runtime's.
    pub(crate) async fn tell(&mut self, text: String) -> Result<(), Stop> {
        let origin = Origin::Runtime { ended: Vec::new() };
        self.note([], Message::user(origin, text), []).await?;
        Ok(())
    }

    /// Adds a message, to be recorded together with what goes before and after it. It is
    /// sent to nobody before that is done.
    fn note(
        &mut self,
        before: impl IntoIterator<Item = EventKind>,
        message: Message,
        after: impl IntoIterator<Item = EventKind>,
    ) -> Written {
        let message = Arc::new(message);
        let said = EventKind::Said { message: Arc::clone(&message) };
        let events = before.into_iter().chain([said]).chain(after).collect();
        self.history.push(message);
        self.seat.shared.write(&self.seat.entry.identity, events)
    }

    fn mailbox(&self) -> &Mailbox {
        &self.seat.entry.mailbox
    }
}

impl Words {
    /// Keeps the latest words; silence does not take them back.
    fn say(&mut self, text: String, cut: Option<String>) {
        if !text.trim().is_empty() {
            self.text = text;
        }
        self.cut = cut;
    }
}

/// Tells why an answer is not all it might have been.
fn cut(stop: StopReason) -> Option<String> {
    match stop {
        StopReason::Done | StopReason::Calls => None,
        StopReason::Length => Some("the answer reached its limit".to_owned()),
        StopReason::Filtered => Some("the provider would not let the model go on".to_owned()),
    }
}
