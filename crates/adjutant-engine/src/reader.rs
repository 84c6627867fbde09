//! A front end's view of what happens.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use adjutant_core::{Event, JournalError};
use futures_util::{Stream, stream::BoxStream};

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
pub struct Events(pub(crate) BoxStream<'static, Result<Seen, JournalError>>);

impl Stream for Events {
    type Item = Result<Seen, JournalError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}
