//! Stops and asks when the root has made many calls.

use adjutant_core::{Answer, Ask, CallId};

use crate::{Breaker, agent::Agent, notice, stop::Stop};

/// What a person may answer.
const GO_ON: &str = "go on";
const STOP: &str = "stop";

/// What was done about the calls up to now.
#[derive(Default)]
pub(crate) struct Watched {
    is_warned: bool,
    /// How many there were when a person was last asked.
    paused_at: u64,
}

impl Agent {
    /// Tells the agent, or asks a person, if it has made many calls. Children have their
    /// budgets instead.
    pub(crate) async fn watch_calls(&mut self, last: Option<&CallId>) -> Result<(), Stop> {
        let Breaker { warn_at, pause_at } = self.seat.shared.settings.breaker;
        let Some(last) = last.filter(|_| self.seat.path().depth() == 0) else { return Ok(()) };
        let calls = self.seat.entry.purse.spending().calls;
        if let Some(pause_at) = pause_at
            && calls >= self.watched.paused_at + pause_at.get()
        {
            self.watched = Watched { is_warned: true, paused_at: calls };
            return self.pause(last, calls).await;
        }
        if warn_at.is_some_and(|warn_at| calls >= warn_at.get()) && !self.watched.is_warned {
            self.watched.is_warned = true;
            self.tell(notice::many_calls(calls)).await?;
        }
        Ok(())
    }

    async fn pause(&mut self, call: &CallId, calls: u64) -> Result<(), Stop> {
        let prompt = format!("{calls} tool calls have been made. Go on?");
        let choices = vec![GO_ON.to_owned(), STOP.to_owned()];
        let ask = Ask::Question { prompt, choices };
        let answer = self.seat.ask(call, ask, None).await?;
        let said = match answer {
            Answer::Allow | Answer::AllowFromNowOn { .. } => return Ok(()),
            Answer::Words { text } if text.trim().eq_ignore_ascii_case(GO_ON) => return Ok(()),
            Answer::Words { text } if !text.trim().eq_ignore_ascii_case(STOP) => text,
            Answer::Words { .. } | Answer::Deny { .. } => return Err(Stop::Paused(calls)),
            // Nobody is there to say no either; the hard stop is still ahead.
            Answer::Unattended => return self.tell(notice::many_calls(calls)).await,
        };
        // Other words are a direction to go on in.
        self.tell(notice::person_says(&said)).await
    }
}
