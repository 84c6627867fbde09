//! What every journal, every vault and every bus must do. A check that fails panics.

#![allow(clippy::unwrap_used, reason = "a check fails by panicking")]

mod bus;
mod journal;
mod sample;
mod vault;

use std::sync::Arc;

use adjutant_core::{Bus, Journal, Vault};

use crate::LocalBus;

/// Checks a journal. `make` makes an empty one each time.
pub async fn journal(make: impl Fn(Arc<dyn Bus>) -> Arc<dyn Journal>) {
    let fresh = || make(Arc::new(LocalBus::default()));
    journal::concurrent_batches_stay_whole(&*fresh()).await;
    journal::a_reader_turns_pages(&*fresh()).await;
    journal::sessions_are_apart(&*fresh()).await;
    journal::sessions_are_listed_newest_first(&*fresh()).await;
    journal::a_dropped_append_is_written(&*fresh()).await;
    journal::what_cannot_be_kept_is_refused(&*fresh()).await;

    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    journal::what_is_acknowledged_was_shown(&*make(Arc::clone(&bus)), &*bus).await;
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    journal::every_kind_comes_back_as_it_went(&*make(Arc::clone(&bus)), &*bus).await;
}

/// Checks a vault. `make` makes an empty one each time.
pub async fn vault(make: impl Fn() -> Arc<dyn Vault>) {
    vault::what_is_kept_comes_back_as_it_went(&*make()).await;
    vault::what_is_not_kept_is_not_there(&*make()).await;
    vault::what_is_kept_at_once_is_all_there(&*make()).await;
    vault::a_dropped_content_is_kept(&*make()).await;
}

/// Checks a bus. `make` makes a new one each time.
pub async fn bus(make: impl Fn() -> Arc<dyn Bus>) {
    bus::a_listener_hears_its_subtree(&*make()).await;
    bus::who_sends_learns_what_became_of_it(&*make()).await;
    bus::who_listens_no_more_is_not_reached(&*make()).await;
    bus::a_watcher_sees_its_session_from_now_on(&*make()).await;
    bus::fragments_are_wanted_until_the_last_watcher_goes(&*make());
    bus::who_wants_no_fragments_sees_none(&*make()).await;
    bus::a_fragment_has_the_position_before_it(&*make()).await;
    bus::a_stuck_watcher_learns_how_much_it_missed(&*make()).await;
}
