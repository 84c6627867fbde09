//! The model that an agent's file names.

use super::{Definition, Findings, Linter};

impl Linter<'_> {
    /// Checks that the model can be found, and that there is a key for it.
    pub(super) fn check_model(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let Some(model) = &definition.model else { return };
        let Err(error) = self.models.find(model) else { return };
        if model.contains('/') {
            findings.warn("model", "", format!("`model` is `{model}`: {}", error.message));
        } else {
            let why = format!("`model` is `{model}`, which is a model of its caller's provider");
            findings.warn("model", "", why).hint =
                Some("for `run -a`, write it with its provider: `anthropic/…`".to_owned());
        }
    }
}
