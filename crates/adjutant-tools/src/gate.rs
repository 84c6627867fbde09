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
    kept_out: Arc<AtomicUsize>,
}

impl Gate {
    /// Makes the gate for a tool's walk from a place.
    pub(crate) fn new<T: TypedTool>(host: &dyn Host, place: &Place) -> Self {
        let (name, description) = (T::NAME.to_owned(), String::new());
        let spec = ToolSpec { name, description, parameters: Value::Null, effect: T::EFFECT };
        let (grant, spec) = (host.grant().clone(), Arc::new(spec));
        let begun = grant.judge(&spec, &place.read()).verdict;
        Self { grant, spec, begun, kept_out: Arc::default() }
    }

    /// Reports whether a path may be shown.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        // Without rules everything below a place is judged like the place.
        if !self.grant.has_rules() {
            return true;
        }
        let touch = Touch { effect: Effect::Read, target: Target::Path(path.to_owned()) };
        let is_admitted = self.grant.judge(&self.spec, &[touch]).verdict >= self.begun;
        if !is_admitted {
            self.kept_out.fetch_add(1, Relaxed);
        }
        is_admitted
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
