//! What may be appended.

use adjutant_core::{Event, JournalError};

/// Refuses a batch that has no last position or holds what is not kept.
pub(crate) fn check(batch: &[Event]) -> Result<(), JournalError> {
    if batch.is_empty() {
        return Err(JournalError("a batch must have at least one event".to_owned()));
    }
    match batch.iter().find(|event| !event.kind.is_kept()) {
        None => Ok(()),
        Some(fragment) => Err(JournalError(format!(
            "a fragment of `{}` was to be kept: fragments are only published",
            fragment.path
        ))),
    }
}
