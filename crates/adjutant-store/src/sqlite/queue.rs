//! Batches on their way into the file.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use adjutant_core::JournalError;

use super::{
    database::Patience,
    writer::{Batch, Failure, Writer},
};

/// How many events are committed together at most.
const GROUP: usize = 1024;

/// Batches that wait, and the one who writes them.
///
/// It has no bound of its own: an agent gives two batches at most before it awaits them, so
/// there are never many more batches than agents.
pub(super) struct Queue {
    waiting: Mutex<Vec<Batch>>,
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

    pub(super) fn push(&self, batch: Batch) {
        self.waiting().push(batch);
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
            acknowledge(group, &written);
        }
    }

    fn next(&self) -> Vec<Batch> {
        let mut waiting = self.waiting();
        let mut events = 0;
        let mut fits = |batch: &Batch| {
            let before = events;
            events += batch.events.len();
            before < GROUP
        };
        let count = waiting.iter().take_while(|batch| fits(batch)).count();
        waiting.drain(..count).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Batch>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn acknowledge(group: Vec<Batch>, written: &Result<(), JournalError>) {
    for batch in group {
        drop(batch.reply.send(written.clone().map(|()| batch.last)));
    }
}
