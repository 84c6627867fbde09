//! The model that an agent's file names.

use adjutant_core::Trouble;

use super::{Definition, Findings, Linter};

impl Linter<'_> {
    /// Checks that the model can be found, and that there is a key for it. A key can still come;
    /// what nobody has does not.
    pub(super) fn check_model(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let Some(model) = &definition.model else { return };
        let Err(error) = self.models.find(model) else { return };
        if model.contains('/') {
            let why = format!("`model` is `{model}`: {}", error.message);
            match error.trouble {
                Trouble::NotFound => findings.wrong("model", "", why),
                _ => findings.warn("model", "", why),
            };
        } else {
            let why = format!("`model` is `{model}`, which is a model of its caller's provider");
            findings.warn("model", "", why).hint =
                Some("for `run -a`, write it with its provider: `anthropic/…`".to_owned());
        }
    }
}
