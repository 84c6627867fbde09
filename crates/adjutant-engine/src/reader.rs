//! A front end's view of what happens: a cursor over the journal and a small ring of
//! the latest. A reader that lags re-reads; it slows nobody and no queue grows.

use std::{
    cmp::Ordering,
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use adjutant_core::{
    AgentPath, Event, EventKind, Journal, JournalError, Seq, SessionId, Sight, Watch,
};
use futures_util::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::sync::watch;

/// How many events are re-read at a time.
const PAGE: usize = 256;

/// What a reader sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// An event. Kept ones come in order, none missing and none twice.
    Event(Arc<Event>),
    /// The reader was too slow for this many fragments. No kept event is missing.
    Lagged {
        /// How many.
        dropped: u64,
    },
}

/// A stream of what happens in a session. It ends after the root's last event.
pub struct Events(BoxStream<'static, Result<Seen, JournalError>>);

impl Events {
    pub(crate) fn open(
        journal: Arc<dyn Journal>,
        session: SessionId,
        after: Seq,
        // It began before the journal is read, so that nothing falls in between.
        watch: Watch,
        lost: Lost,
    ) -> Self {
        let Watch { after: ring_at, sights: ring } = watch;
        let page = VecDeque::new();
        let reader = Reader {
            journal,
            session,
            ring,
            page,
            cursor: after,
            // A new session's journal has what was shown and nothing else.
            target: Some(ring_at),
            ring_at,
            missed: 0,
            next: None,
            dropped: 0,
            lost,
            is_over: false,
        };
        let steps = stream::unfold(reader, |mut reader| async {
            let seen = reader.next().await?;
            Some((seen, reader))
        });
        Self(steps.fuse().boxed())
    }
}

impl Stream for Events {
    type Item = Result<Seen, JournalError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

struct Reader {
    journal: Arc<dyn Journal>,
    session: SessionId,
    ring: BoxStream<'static, Sight>,
    /// Read from the journal and not yet seen.
    page: VecDeque<Arc<Event>>,
    /// The last kept event seen.
    cursor: Seq,
    /// Up to where the journal has to be read before the ring is looked at again.
    target: Option<Seq>,
    /// The last kept event the ring had.
    ring_at: Seq,
    /// What went by in the ring, kept events and fragments.
    missed: u64,
    /// What the ring had that comes after the target.
    next: Option<Arc<Event>>,
    /// Fragments that went by.
    dropped: u64,
    /// What kept the end out of the journal.
    lost: Lost,
    is_over: bool,
}

/// Tells that the root is gone and what kept its end out of the journal.
pub(crate) type Lost = watch::Receiver<Option<JournalError>>;

impl Reader {
    async fn next(&mut self) -> Option<Result<Seen, JournalError>> {
        loop {
            if self.is_over {
                return None;
            }
            if self.dropped > 0 {
                let dropped = std::mem::take(&mut self.dropped);
                return Some(Ok(Seen::Lagged { dropped }));
            }
            if let Some(event) = self.page.pop_front() {
                return Some(Ok(self.see(event)));
            }
            if let Some(target) = self.target {
                if let Err(error) = self.read(target).await {
                    self.is_over = true;
                    return Some(Err(error));
                }
                continue;
            }
            let next = match self.next.take() {
                Some(event) => Some(Sight::Event(event)),
                None => match self.wait().await {
                    Ok(next) => next,
                    Err(error) => {
                        self.is_over = true;
                        return Some(Err(error));
                    }
                },
            };
            if let Some(seen) = self.look(next?) {
                return Some(Ok(seen));
            }
        }
    }

    /// Waits for the ring. Errs when the root is gone and the journal could not keep
    /// its end, since no event will tell.
    async fn wait(&mut self) -> Result<Option<Sight>, JournalError> {
        let Self { ring, lost, .. } = self;
        let error = async {
            let lost = lost.wait_for(Option::is_some).await.ok();
            let lost = lost.and_then(|error| error.clone());
            match lost {
                Some(error) => error,
                // The session is gone, so its end was kept.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            next = ring.next() => Ok(next),
            error = error => Err(error),
        }
    }

    /// Reads a page of the journal, or finds that there is nothing to read.
    async fn read(&mut self, target: Seq) -> Result<(), JournalError> {
        if self.cursor >= target {
            self.target = None;
            return Ok(());
        }
        // No further than the target: the ring has the rest, with its fragments in between.
        let limit = usize::try_from(target - self.cursor).map_or(PAGE, |left| left.min(PAGE));
        let page = self.journal.read(self.session, self.cursor, limit).await?;
        if page.is_empty() {
            return Err(JournalError(format!("event {} is missing", self.cursor + 1)));
        }
        self.page = page.into();
        Ok(())
    }

    /// Takes one step of the ring.
    fn look(&mut self, sight: Sight) -> Option<Seen> {
        let event = match sight {
            Sight::Missed(count) => {
                self.missed += count;
                return None;
            }
            Sight::Event(event) => event,
        };
        let is_kept = event.kind.is_kept();
        let before = if is_kept { event.seq.saturating_sub(1) } else { event.seq };
        self.count_dropped(before);
        if before > self.cursor || self.dropped > 0 {
            // What was missed is told, and the journal read up to here, before this is seen.
            self.target = Some(before);
            self.next = Some(event);
            return None;
        }
        self.ring_at = event.seq;
        match (is_kept, event.seq.cmp(&self.cursor)) {
            (true, Ordering::Greater) | (false, Ordering::Equal) => Some(self.see(event)),
            // A fragment of something that was seen whole.
            (false, _) => {
                self.dropped += 1;
                None
            }
            (true, _) => None,
        }
    }

    /// Tells the fragments among what was missed from the kept events, of which the
    /// positions tell how many there were.
    fn count_dropped(&mut self, before: Seq) {
        let missed = std::mem::take(&mut self.missed);
        let kept = before.saturating_sub(self.ring_at);
        self.dropped += missed.saturating_sub(kept);
    }

    fn see(&mut self, event: Arc<Event>) -> Seen {
        if event.kind.is_kept() {
            self.cursor = event.seq;
        }
        let is_end = matches!(event.kind, EventKind::Finished { .. });
        self.is_over = is_end && event.path == AgentPath::root();
        Seen::Event(event)
    }
}
