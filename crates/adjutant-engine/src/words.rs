//! What an agent said last, for those who look at it from outside.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an agent said last.
#[derive(Default)]
pub(crate) struct Words(Mutex<Spoken>);

#[derive(Default)]
struct Spoken {
    said: String,
    /// What it is about to say.
    saying: String,
}

impl Words {
    /// Forgets what was begun and not ended.
    pub(crate) fn begin(&self) {
        self.lock().saying.clear();
    }

    /// Adds a fragment.
    pub(crate) fn add(&self, fragment: &str) {
        self.lock().saying.push_str(fragment);
    }

    /// Notes what was said in the end.
    pub(crate) fn end(&self, said: &str) {
        let mut spoken = self.lock();
        spoken.saying.clear();
        spoken.said.clear();
        spoken.said.push_str(said);
    }

    /// Returns what it says now, or said last.
    pub(crate) fn latest(&self) -> String {
        let spoken = self.lock();
        let latest = if spoken.saying.is_empty() { &spoken.said } else { &spoken.saying };
        latest.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Spoken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
