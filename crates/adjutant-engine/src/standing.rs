//! What people said yes to for longer than one call.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{Pattern, Rulebook, Span, Touch};

/// The standing answers of a tree. Looked at only where a person would be asked, so they lift
/// nothing that is denied.
pub(crate) struct Standing {
    rules: Mutex<Vec<Pattern>>,
    rulebook: Arc<dyn Rulebook>,
}

impl Standing {
    pub(crate) fn new(rulebook: Arc<dyn Rulebook>) -> Self {
        Self { rules: Mutex::default(), rulebook }
    }

    /// Adds rules, and returns for how long they really stand.
    pub(crate) fn add(&self, rules: &[Pattern], span: Span) -> Span {
        let is_kept = span == Span::Always && self.rulebook.add(rules).is_ok();
        let mut standing = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        standing.extend(rules.iter().cloned());
        if is_kept { Span::Always } else { Span::Session }
    }

    /// Reports whether a tool may touch something without asking again.
    pub(crate) fn covers(&self, tool: &str, touch: &Touch, scope: &[PathBuf]) -> bool {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().any(|rule| rule.covers(tool, &touch.target, scope))
    }
}
