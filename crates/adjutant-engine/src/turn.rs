//! One turn of the model: reserve, stream, settle, try again.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
};

use adjutant_core::{
    Delta, EventKind, Fragment, History, Message, ModelError, Need, Part, Request, Reservation,
    StopReason, ToolChoice, Trouble, Turn, Usage,
};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    dispatch::message_of,
    gauge::{Gauge, tokens},
    retry,
    seat::Seat,
    stop::Stop,
};

/// What a turn is asked with.
pub(crate) struct Ask<'a> {
    pub(crate) history: &'a mut History,
    pub(crate) gauge: &'a mut Gauge,
    pub(crate) number: u64,
    pub(crate) turn: Turn,
    /// Whether it may call tools.
    pub(crate) choice: ToolChoice,
    /// Ends the turn.
    pub(crate) token: &'a CancellationToken,
}

/// What the model said. `spent` is yet to be recorded, together with the message.
pub(crate) struct Reply {
    pub(crate) message: Message,
    pub(crate) stop: StopReason,
    pub(crate) spent: EventKind,
}

/// A turn that came to nothing, and what was shown of it.
pub(crate) struct Cut {
    pub(crate) stop: Stop,
    pub(crate) shown: String,
}

/// Asks the model what comes next.
pub(crate) async fn take(seat: &Seat, mut ask: Ask<'_>) -> Result<Reply, Cut> {
    let retry = seat.order.manner.retry.unwrap_or(seat.shared.settings.retry);
    let mut attempt = 1;
    loop {
        let Failure { error, spent, shown } = match attempt_once(seat, &mut ask).await {
            Ok(reply) => return Ok(reply),
            Err(failure) => failure,
        };
        let cut = |stop: Stop| Cut { stop, shown };
        let mut events: Vec<_> = spent.into_iter().collect();
        let pause = match &error {
            Stop::Model(error) if error.is_passing() && attempt < retry.attempts => {
                let pause = retry::pause(&retry, attempt, error);
                if error.trouble == Trouble::Busy {
                    // The others would only be told the same.
                    seat.shared.pace(&seat.model.info().provider).hold_back(pause);
                }
                pause
            }
            _ => {
                let recorded = seat.record(events).await;
                return Err(cut(recorded.err().map_or(error, Stop::from)));
            }
        };
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let reason = error.to_string();
        events.push(EventKind::Retrying { attempt: attempt + 1, wait_ms, reason });
        if let Err(error) = seat.record(events).await {
            return Err(cut(error.into()));
        }
        if ask.token.run_until_cancelled(sleep(pause)).await.is_none() {
            return Err(cut(Stop::CalledOff));
        }
        attempt += 1;
    }
}

struct Failure {
    error: Stop,
    spent: Option<EventKind>,
    shown: String,
}

impl From<Stop> for Failure {
    fn from(error: Stop) -> Self {
        Self { error, spent: None, shown: String::new() }
    }
}

async fn attempt_once(seat: &Seat, ask: &mut Ask<'_>) -> Result<Reply, Failure> {
    let info = seat.model.info();
    // The slot comes first: whoever has money set aside then also has a slot, and
    // those who wait for the money are waiting for calls that do end.
    let pace = seat.shared.pace(&info.provider);
    let slot = ask.token.run_until_cancelled(pace.slot()).await;
    let Some(_slot) = slot else { return Err(Stop::CalledOff.into()) };
    let input = ask.gauge.estimate(seat, ask.history);
    let output = seat
        .order
        .manner
        .max_output
        .map_or(info.max_output, |most| most.get().min(info.max_output));
    let need = Need { input, output, price: info.price, turn: ask.turn };
    let reserved = ask.token.run_until_cancelled(seat.entry.purse.reserve(need)).await;
    let mut reservation = match reserved {
        None => return Err(Stop::CalledOff.into()),
        Some(reserved) => reserved.map_err(Stop::from)?,
    };
    reservation.sent();
    seat.entry.words.begin();
    let mut draft = Draft::default();
    let end = listen(seat, ask, reservation.output(), &mut draft).await;
    settle(ask, draft, reservation, end)
}

/// Streams the answer into the draft.
async fn listen(
    seat: &Seat,
    ask: &mut Ask<'_>,
    max_output: u64,
    draft: &mut Draft,
) -> Result<StopReason, Stop> {
    let (messages, wire) = ask.history.to_send();
    let request = Request {
        agent: seat.path(),
        turn: ask.number,
        system: &seat.system,
        messages,
        tools: &seat.tools.specs,
        choice: ask.choice,
        schema: seat.answer.as_ref().map(|answer| &*answer.written),
        max_output,
        manner: &seat.order.manner,
    };
    // An adapter that panics has broken off like any other; the call is paid and recorded.
    let stream = catch_unwind(AssertUnwindSafe(|| seat.model.stream(request, wire)));
    let mut stream = stream.map_err(|panic| broken(&*panic))?;
    let patience = seat.shared.settings.inactivity;
    let mut called_off = pin!(ask.token.cancelled());
    let mut silence = pin!(sleep(patience));
    loop {
        let next = AssertUnwindSafe(stream.next()).catch_unwind();
        let why = tokio::select! {
            biased;
            () = &mut called_off => return Err(Stop::CalledOff),
            next = next => match next {
                Ok(Some(delta)) => {
                    if let Some(stop) = draft.take(seat, delta?) {
                        return Ok(stop);
                    }
                    silence.as_mut().reset(Instant::now() + patience);
                    continue;
                }
                Ok(None) => "the answer was cut off".to_owned(),
                Err(panic) => return Err(broken(&*panic).into()),
            },
            () = &mut silence => format!("the model said nothing for {patience:?}"),
        };
        return Err(ModelError::new(Trouble::Broken, why).into());
    }
}

fn broken(panic: &(dyn Any + Send)) -> ModelError {
    let message = format!("the model's adapter broke: {}", message_of(panic));
    ModelError::new(Trouble::Broken, message)
}

fn settle(
    ask: &mut Ask<'_>,
    draft: Draft,
    reservation: Reservation,
    end: Result<StopReason, Stop>,
) -> Result<Reply, Failure> {
    let error = match end {
        Ok(stop) => {
            let (usage, spent) = pay(reservation, &draft, Answered::Whole);
            ask.gauge.learn(usage, ask.history);
            return Ok(Reply { message: Message::Assistant { parts: draft.parts }, stop, spent });
        }
        Err(error) => error,
    };
    let is_refused = matches!(&error, Stop::Model(error) if error.trouble != Trouble::Broken);
    if is_refused && draft.is_empty() {
        reservation.refund();
        return Err(Failure { error, spent: None, shown: draft.shown });
    }
    let (_, spent) = pay(reservation, &draft, Answered::InPart);
    Err(Failure { error, spent: Some(spent), shown: draft.shown })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    Whole,
    InPart,
}

/// Pays what the provider reported, or a guess where it reported nothing or broke off.
fn pay(mut reservation: Reservation, draft: &Draft, answered: Answered) -> (Usage, EventKind) {
    let estimated = draft.usage == Usage::default();
    let (usage, micros) = if answered == Answered::Whole && !estimated {
        reservation.settle(draft.usage)
    } else {
        reservation.saw(draft.seen());
        reservation.settle_broken()
    };
    (usage, EventKind::Spent { usage, micros, estimated })
}

/// An answer being written.
#[derive(Default)]
struct Draft {
    parts: Vec<Part>,
    shown: String,
    bytes: usize,
    usage: Usage,
}

impl Draft {
    fn take(&mut self, seat: &Seat, delta: Delta) -> Option<StopReason> {
        match delta {
            Delta::Text(text) => {
                self.bytes += text.len();
                self.shown.push_str(&text);
                seat.entry.words.add(&text);
                seat.show(|| EventKind::Saying { of: Fragment::Text, text });
            }
            Delta::Reasoning(text) => {
                self.bytes += text.len();
                seat.show(|| EventKind::Saying { of: Fragment::Reasoning, text });
            }
            Delta::Part(part) => self.parts.push(part),
            Delta::Usage(usage) => self.usage = usage,
            Delta::Stop(stop) => return Some(stop),
        }
        None
    }

    fn is_empty(&self) -> bool {
        self.bytes == 0 && self.parts.is_empty() && self.usage == Usage::default()
    }

    /// Returns what was reported, or a guess at what was delivered if that is more.
    fn seen(&self) -> Usage {
        let parts: usize = self.parts.iter().map(Part::size).sum();
        let delivered = tokens(self.bytes.max(parts));
        Usage { output: self.usage.output.max(delivered), ..self.usage }
    }
}
