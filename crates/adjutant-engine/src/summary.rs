//! A fork that begins with a summary of what its parent knows.

use std::sync::Arc;

use adjutant_core::{EventKind, Message, Origin, ToolChoice, Turn};

use crate::{
    agent::Agent,
    gauge::Gauge,
    notice,
    stop::Stop,
    turn::{self, Reply},
};

impl Agent {
    /// Puts a summary in the place of all that was said before the task.
    pub(crate) async fn sum_up(&mut self) -> Result<(), Stop> {
        let upto = self.history.messages().len().saturating_sub(1);
        if upto == 0 {
            return Ok(());
        }
        let token = self.seat.work.clone();
        let origin = Origin::Runtime { ended: Vec::new() };
        // Asked of a copy: neither the question nor the answer is part of the conversation.
        let mut copy = self.history.clone();
        copy.push(Arc::new(Message::user(origin.clone(), notice::sum_up())));
        self.seat.entry.purse.take_turn()?;
        self.receipt.turns += 1;
        let (number, turn, choice) = (self.receipt.turns, Turn::Ordinary, ToolChoice::None);
        let (history, gauge) = (&mut copy, &mut Gauge::default());
        let ask = turn::Ask { history, gauge, number, turn, choice, token: &token };
        let reply = turn::take(&self.seat, ask).await;
        let Reply { message, spent, .. } = reply.map_err(|cut| cut.stop)?;
        let text = message.text();
        if text.trim().is_empty() {
            // Better the whole conversation than nothing of it.
            return Ok(self.seat.record(vec![spent]).await?);
        }
        let summary = Arc::new(Message::user(origin, notice::summary(&text)));
        let with = vec![summary];
        let compacted = EventKind::Compacted { upto, with: with.clone() };
        self.seat.record(vec![spent, compacted]).await?;
        self.history.compact(upto, &with);
        Ok(())
    }
}
