//! An agent's time, which stands still while a person is being asked.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// The most time kept back for the last, toolless turn.
const LAST_TURN: Duration = Duration::from_secs(10);

/// How much time an agent has left for ordinary work.
pub(crate) struct Clock {
    face: watch::Sender<Face>,
    /// How long the last turn may take, after the ordinary time is up.
    pub(crate) last_turn: Duration,
}

#[derive(Clone, Copy)]
struct Face {
    deadline: Option<Instant>,
    holds: usize,
    held_since: Instant,
}

impl Clock {
    /// Starts a clock; without a limit it never runs out.
    pub(crate) fn start(limit: Option<Duration>) -> Self {
        let last_turn = limit.map_or(LAST_TURN, |limit| LAST_TURN.min(limit / 10));
        let now = Instant::now();
        let deadline = limit.map(|limit| now + (limit - last_turn));
        let face = watch::Sender::new(Face { deadline, holds: 0, held_since: now });
        Self { face, last_turn }
    }

    /// Stops the clock for as long as the result lives.
    pub(crate) fn hold(&self) -> Hold<'_> {
        self.face.send_modify(|face| {
            if face.holds == 0 {
                face.held_since = Instant::now();
            }
            face.holds += 1;
        });
        Hold(self)
    }

    /// Returns how much time is left; `None` is no limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        let face = *self.face.borrow();
        let now = if face.holds > 0 { face.held_since } else { Instant::now() };
        face.deadline.map(|deadline| deadline.saturating_duration_since(now))
    }

    /// Returns when the time is up, which may be never.
    pub(crate) async fn expired(&self) {
        let mut changes = self.face.subscribe();
        loop {
            let Face { deadline, holds, .. } = *changes.borrow_and_update();
            let up = async {
                match deadline {
                    Some(deadline) if holds == 0 => sleep_until(deadline).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = up => return,
                _ = changes.changed() => {}
            }
        }
    }

    /// Stops this clock whenever `other` stands still, until dropped.
    pub(crate) async fn follow(&self, other: &Self) {
        let mut changes = other.face.subscribe();
        let mut hold = None;
        loop {
            let is_held = changes.borrow_and_update().holds > 0;
            match (is_held, &hold) {
                (true, None) => hold = Some(self.hold()),
                (false, Some(_)) => hold = None,
                _ => {}
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// A clock stands still while this lives.
pub(crate) struct Hold<'a>(&'a Clock);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.face.send_modify(|face| {
            face.holds -= 1;
            if face.holds == 0 {
                let stood = face.held_since.elapsed();
                face.deadline = face.deadline.map(|deadline| deadline + stood);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_held_clock_does_not_run_out() {
        let clock = Clock::start(Some(MINUTE));
        let hold = clock.hold();
        assert!(timeout(10 * MINUTE, clock.expired()).await.is_err());
        drop(hold);
        assert_eq!(clock.left(), Some(Duration::from_secs(54)));
        assert!(timeout(MINUTE, clock.expired()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_stands_still_with_the_one_it_waits_for() {
        let (parent, child) = (Clock::start(Some(MINUTE)), Clock::start(None));
        let hold = child.hold();
        let _ = timeout(10 * MINUTE, parent.follow(&child)).await;
        assert_eq!(parent.left(), Some(Duration::from_secs(54)));
        drop(hold);
        advance(MINUTE).await;
        assert_eq!(parent.left(), Some(Duration::ZERO));
    }
}
