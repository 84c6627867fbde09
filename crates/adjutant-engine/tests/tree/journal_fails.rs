//! A journal that cannot be written stops the tree, and whoever watches is told.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use adjutant_core::{Bus, Event, EventKind, Journal, JournalError, Seq, SessionEntry, SessionId};
use adjutant_engine::Seen;
use adjutant_models::script::Script;
use adjutant_store::MemoryJournal;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};

use crate::support::{Plan, Reply, sub};

/// A journal on a disk that fills up.
struct Full {
    inner: MemoryJournal,
    room: AtomicUsize,
}

impl Journal for Full {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        let room = self.room.fetch_update(SeqCst, SeqCst, |room| room.checked_sub(1));
        match room {
            Ok(_) => self.inner.append(session, batch),
            Err(_) => async { Err(JournalError("the disk is full".to_owned())) }.boxed(),
        }
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>> {
        self.inner.read(session, after, limit)
    }

    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>> {
        self.inner.sessions()
    }
}

#[tokio::test(start_paused = true)]
async fn wherever_the_disk_fills_up_the_watchers_are_told_and_nothing_hangs() {
    let mut completed = false;
    for room in 0..20 {
        let script = Script::new()
            .on("root", [Reply::calls([sub("a", "x"), sub("b", "y")]), Reply::text("done")])
            .on("root.*", [Reply::text("ok")]);
        let full = move |bus: Arc<dyn Bus>| -> Arc<dyn Journal> {
            Arc::new(Full { inner: MemoryJournal::new(bus), room: AtomicUsize::new(room) })
        };
        let session = Plan::new(script).journal(full).begin("go").await.session;
        let seen: Vec<_> = session.events(0).collect().await;
        match seen.last().unwrap() {
            Err(error) => assert_eq!(error.to_string(), "the journal failed: the disk is full"),
            Ok(Seen::Event(event)) => {
                completed = matches!(&event.kind, EventKind::Finished { .. });
            }
            Ok(other) => panic!("{other:?}"),
        }
        assert!(seen[..seen.len() - 1].iter().all(Result::is_ok));
    }
    assert!(completed, "there was room enough at last");
}
