//! What people said yes to for longer than one call.

use std::sync::Arc;

use adjutant_core::{Grant, Pattern, Rulebook, Span, ToolSpec, Touch};
use tokio::{sync::watch, task::spawn_blocking};

/// The standing answers of a tree. Looked at only where a person would be asked, so they lift
/// nothing that is denied.
pub(crate) struct Standing {
    rules: watch::Sender<Vec<Pattern>>,
    rulebook: Arc<dyn Rulebook>,
}

impl Standing {
    pub(crate) fn new(rulebook: Arc<dyn Rulebook>) -> Self {
        Self { rules: watch::Sender::new(Vec::new()), rulebook }
    }

    /// Adds rules, and returns for how long they really stand.
    pub(crate) async fn add(&self, rules: &[Pattern], span: Span) -> Span {
        let kept = match span {
            Span::Session => Span::Session,
            Span::Always => self.keep(rules.to_owned()).await,
        };
        self.rules.send_modify(|standing| standing.extend(rules.iter().cloned()));
        kept
    }

    /// Writes rules down, where a file that is slow holds up nobody else.
    async fn keep(&self, rules: Vec<Pattern>) -> Span {
        let rulebook = Arc::clone(&self.rulebook);
        let kept = spawn_blocking(move || rulebook.add(&rules)).await;
        if matches!(kept, Ok(Ok(()))) { Span::Always } else { Span::Session }
    }

    /// Reports whether a tool may touch something without asking again.
    pub(crate) fn covers(&self, grant: &Grant, tool: &ToolSpec, touch: &Touch) -> bool {
        grant.lifts(&self.rules.borrow(), tool, touch)
    }

    /// Returns when a tool may touch all of it without asking.
    pub(crate) async fn until(&self, grant: &Grant, tool: &ToolSpec, touches: &[Touch]) {
        let mut rules = self.rules.subscribe();
        let is_lifted = |rules: &Vec<_>| touches.iter().all(|it| grant.lifts(rules, tool, it));
        // The sender is our own, so the wait cannot fail.
        let _ = rules.wait_for(is_lifted).await;
    }
}
