//! Whether the model that children run on by default can be found.

use adjutant_core::{Models, Refusal};
use adjutant_engine::usual_child_model;

use crate::{CliError, config::Config, error::Kind};

/// Refuses a default that would make every delegation fail that names no model, while a person
/// is there to be told. `root` is the model of the root. Returns what is only to be warned of.
pub(crate) fn check(
    config: &Config,
    models: &dyn Models,
    root: &str,
) -> Result<Option<String>, CliError> {
    let settings = &config.settings;
    let (key, value) = match (&settings.child_model, &settings.child_provider) {
        _ if !config.delegates => return Ok(None),
        (Some(model), _) => ("sub_agents.default_model", model),
        (None, Some(provider)) => ("sub_agents.default_provider", provider),
        (None, None) => return Ok(None),
    };
    let said = |why: String| format!("`{key}` is `{value}`: {why}");
    let wrong = |why: String| CliError::new(Kind::Config, said(why));
    // A root without a model is told of where it begins.
    let Ok(root) = models.find(root) else { return Ok(None) };
    let keyless = config.providers.find(value).filter(|setup| !setup.is_ready());
    match usual_child_model(models, settings, &root.info().provider) {
        Ok(_) => Ok(None),
        // A preset names a provider for those who have a key; calls may name another.
        Err(Refusal::NoModel(why)) if keyless.is_some() => Ok(Some(said(why))),
        Err(Refusal::ModelNotAllowed { name, allowed }) => {
            let why = format!("`{name}` is not in `sub_agents.models`, which is {allowed}");
            Err(wrong(why).hint("put it there, or name one of those"))
        }
        Err(refusal) => Err(wrong(refusal.to_string())),
    }
}
