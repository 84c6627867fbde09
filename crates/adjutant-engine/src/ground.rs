//! Where an agent works, and what becomes of what it did there.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

use adjutant_core::{
    AgentPath, Bench, Clamp, Ending, Grant, History, Isolation, Order, Outcome, Receipt, Refusal,
};

use crate::{host::CallHost, seat::Seat};

/// Where a child works, and what it may do there.
pub(crate) struct Ground {
    pub(crate) grant: Grant,
    pub(crate) clamps: Vec<Clamp>,
    pub(crate) workdir: Arc<Path>,
    pub(crate) bench: Option<Box<dyn Bench>>,
}

impl Ground {
    /// Finds a place for a child, or makes one for it alone.
    pub(crate) async fn prepare(
        above: &Seat,
        path: &AgentPath,
        order: &Order,
    ) -> Result<Self, Refusal> {
        let wish = &order.limits.authority;
        let (grant, clamps) = above.grant.narrow(path.clone(), wish)?;
        if order.isolation == Isolation::Shared {
            let workdir = workdir(above, order)?;
            return Ok(Self { grant, clamps, workdir, bench: None });
        }
        let workdir = workdir(above, order)?;
        let workshop = above.shared.workshop.as_ref();
        let none = || Refusal::NoWorktree("this session keeps none".to_owned());
        let bench = workshop.ok_or_else(none)?.open(path, &workdir).await?;
        let stand_in = bench.stand_in().clone();
        let workdir = stand_in.place_of(&workdir).into();
        match above.grant.narrow_into(path.clone(), wish, stand_in) {
            Ok((grant, clamps)) => Ok(Self { grant, clamps, workdir, bench: Some(bench) }),
            Err(refusal) => {
                bench.discard().await;
                Err(refusal)
            }
        }
    }
}

/// Returns where a child is to work: where it is ordered to, if its parent reaches so far, or
/// where its parent does.
fn workdir(above: &Seat, order: &Order) -> Result<Arc<Path>, Refusal> {
    let Some(wanted) = &order.workdir else { return Ok(Arc::clone(&above.workdir)) };
    let scope = above.grant.scope();
    if scope.iter().any(|directory| wanted.starts_with(directory)) {
        return Ok(wanted.as_path().into());
    }
    Err(Refusal::OutsideScope { wanted: wanted.clone(), scope: scope.to_vec() })
}

impl Seat {
    /// Reports whether a path is only a copy of what it stands for. What becomes of it counts
    /// when it is handed over.
    pub(crate) fn is_draft(&self, path: &str) -> bool {
        self.grant.original(path.as_ref()).as_os_str() != path
    }

    /// Hands over what the agent changed where it worked alone, and completes the receipt.
    pub(crate) async fn hand_over(self: &Arc<Self>, outcome: &Outcome, receipt: &mut Receipt) {
        let bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(bench), Some(call)) = (bench, &self.entry.identity.call) {
            let host = CallHost::new(self, call.clone(), History::default());
            receipt.handover = bench.close(obstacle(outcome, receipt), &host).await;
            host.facts().iter().for_each(|fact| receipt.note(fact));
        }
        receipt.modified.retain(|path| !self.is_draft(path));
        let original = |path: String| match self.is_draft(&path) {
            true => self.grant.original(path.as_ref()).display().to_string(),
            false => path,
        };
        receipt.read = std::mem::take(&mut receipt.read).into_iter().map(original).collect();
    }
}

/// Tells why changes are not to be made.
fn obstacle(outcome: &Outcome, receipt: &Receipt) -> Option<String> {
    if let Some(left) = receipt.uncontained.first() {
        return Some(format!("something it started may still be there ({left})"));
    }
    match outcome.ending {
        Ending::Completed => None,
        ending => Some(format!("it did not complete ({ending})")),
    }
}
