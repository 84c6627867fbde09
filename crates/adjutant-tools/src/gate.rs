//! What a walk may come upon.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use adjutant_core::{Effect, Grant, Host, Target, ToolSpec, Touch, Verdict};
use serde_json::Value;

use crate::{place::Place, typed::TypedTool};

/// Keeps out of a walk what is judged more strictly than the place where it began: that
/// place is all the call named and all that was allowed.
#[derive(Clone)]
pub(crate) struct Gate {
    grant: Grant,
    spec: Arc<ToolSpec>,
    begun: Verdict,
    /// Whether everything below a place is judged like the place, since no rule tells one
    /// path from the next.
    is_even: bool,
    kept_out: Arc<AtomicUsize>,
}

impl Gate {
    /// Makes the gate for a tool's walk from a place.
    pub(crate) fn new<T: TypedTool>(host: &dyn Host, place: &Place) -> Self {
        Self::judged::<T>(host, &place.touch(Effect::Read))
    }

    /// Makes the gate for what a tool comes upon after a call that was judged by its touches.
    pub(crate) fn judged<T: TypedTool>(host: &dyn Host, touches: &[Touch]) -> Self {
        let (name, description) = (T::NAME.to_owned(), String::new());
        let spec = ToolSpec { name, description, parameters: Value::Null, effect: T::EFFECT };
        let (grant, spec) = (host.grant().clone(), Arc::new(spec));
        let begun = grant.judge(&spec, touches).verdict;
        let is_even = !grant.has_rules_for(T::NAME);
        Self { grant, spec, begun, is_even, kept_out: Arc::default() }
    }

    /// Reports whether a path may be shown.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        if self.is_even {
            return true;
        }
        let touch = Touch { effect: Effect::Read, target: Target::Path(path.to_owned()) };
        let is_admitted = self.admits(&touch);
        if !is_admitted {
            self.kept_out.fetch_add(1, Relaxed);
        }
        is_admitted
    }

    /// Reports whether something may be touched.
    pub(crate) fn admits(&self, touch: &Touch) -> bool {
        self.grant.verdict(&self.spec, touch) >= self.begun
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kept_out.load(Relaxed) {
            0 => Ok(()),
            count => write!(f, "\n[{count} left out by a rule; name them to be told which]"),
        }
    }
}
