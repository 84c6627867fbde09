//! What a question for permission is about, and which answers to it can stand.

use std::sync::Arc;

use adjutant_core::{Answer, Grant, Pattern, ToolSpec, Touch};

/// What a question for permission is about.
pub(crate) struct About {
    pub(crate) grant: Grant,
    pub(crate) tool: Arc<ToolSpec>,
    pub(crate) touches: Vec<Touch>,
}

impl About {
    /// Returns the rules that would allow it and nothing else; none, if there are no such rules.
    pub(crate) fn rules(&self) -> Vec<Pattern> {
        let touches = self.grant.originals(&self.touches);
        let rules = touches.iter().map(|touch| Pattern::exactly(&self.tool.name, &touch.target));
        let rules: Vec<_> = rules.collect::<Option<_>>().unwrap_or_default();
        if self.is_allowed_by(&rules) { rules } else { Vec::new() }
    }

    /// Refuses a yes that would stand for something else, and tells what would stand for this.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        let Answer::AllowFromNowOn { rules, .. } = answer else { return Ok(()) };
        let usual = self.rules();
        if self.is_allowed_by(if rules.is_empty() { &usual } else { rules }) {
            return Ok(());
        }
        let listed = |rules: &[Pattern]| {
            let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
            rules.join(" and ")
        };
        Err(match &*usual {
            [] => "that would not allow it, and nobody can tell what would".to_owned(),
            usual => format!("{} would not allow it; {} would", listed(rules), listed(usual)),
        })
    }

    fn is_allowed_by(&self, rules: &[Pattern]) -> bool {
        self.touches.iter().all(|touch| self.grant.lifts(rules, &self.tool, touch))
    }
}
