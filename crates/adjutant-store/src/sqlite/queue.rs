//! Entries on their way into the file.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::{
    database::Patience,
    entry::Entry,
    writer::{Failure, Writer},
};

/// How much is committed together at most, in events.
const GROUP: usize = 1024;

/// Entries that wait, and the one who writes them.
///
/// It has no bound of its own: an agent gives two batches at most before it awaits them, so
/// there are never many more entries than agents.
pub(super) struct Queue {
    waiting: Mutex<Vec<Entry>>,
    writer: Mutex<Writer>,
}

/// How far a queue was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing waits, or somebody else is writing it.
    Done,
    /// Something has to wait for the disk or for another process.
    Slow,
}

impl Queue {
    pub(super) fn new(writer: Writer) -> Self {
        Self { waiting: Mutex::default(), writer: Mutex::new(writer) }
    }

    pub(super) fn push(&self, entry: Entry) {
        self.waiting().push(entry);
    }

    /// Writes what waits, unless somebody is at it already.
    pub(super) fn write(&self) -> Progress {
        while !self.waiting().is_empty() {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Progress::Done,
            };
            if self.drain(&mut writer, Patience::None) == Progress::Slow {
                return Progress::Slow;
            }
            // Whoever came while the lock was held and left is seen by the next look.
        }
        Progress::Done
    }

    /// Writes what waits, however long it takes, and tidies up.
    pub(super) fn write_patiently(&self) {
        loop {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            self.drain(&mut writer, Patience::Some);
            writer.tidy();
            drop(writer);
            // Others may have come to a writer that was busy tidying.
            if self.waiting().is_empty() {
                return;
            }
        }
    }

    fn drain(&self, writer: &mut Writer, patience: Patience) -> Progress {
        loop {
            let mut group = self.next();
            if group.is_empty() {
                return if writer.is_untidy() { Progress::Slow } else { Progress::Done };
            }
            let written = match writer.write(&mut group, patience) {
                Err(Failure::Busy) => {
                    self.waiting().splice(..0, group);
                    return Progress::Slow;
                }
                Err(Failure::Broken(error)) => Err(error),
                Ok(()) => Ok(()),
            };
            group.into_iter().for_each(|entry| entry.acknowledge(&written));
        }
    }

    fn next(&self) -> Vec<Entry> {
        let mut waiting = self.waiting();
        let mut weight = 0;
        let mut fits = |entry: &Entry| {
            let before = weight;
            weight += entry.weight();
            before < GROUP
        };
        let count = waiting.iter().take_while(|entry| fits(entry)).count();
        waiting.drain(..count).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
