//! How fast a tree may ask one provider.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use crate::session::places;

/// What all agents of a tree share towards one provider: how many calls run at one time,
/// and until when nobody calls because the provider asked for time.
pub(crate) struct Pace {
    slots: Arc<Semaphore>,
    pause: Mutex<Pause>,
}

/// A time in which nobody calls.
#[derive(Clone, Copy)]
struct Pause {
    end: Instant,
    length: Duration,
}

impl Pace {
    pub(crate) fn new(calls: usize) -> Self {
        let pause = Pause { end: Instant::now(), length: Duration::ZERO };
        Self { slots: places(calls), pause: Mutex::new(pause) }
    }

    /// Waits for a slot, and until the provider may be asked.
    pub(crate) async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        while let Some(Pause { end, length }) = self.pause() {
            // Not all at once when it is over.
            sleep_until(end + length.mul_f64(fastrand::f64() / 4.0)).await;
        }
        Some(slot)
    }

    /// Lets nobody call for a while.
    pub(crate) fn hold_back(&self, length: Duration) {
        let end = Instant::now() + length;
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if end > pause.end {
            *pause = Pause { end, length };
        }
    }

    fn pause(&self) -> Option<Pause> {
        let pause = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        (pause.end > Instant::now()).then_some(pause)
    }
}
