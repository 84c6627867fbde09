//! Whether the models that children may run on can be there.

use adjutant_models::Providers;
use toml::Value;

use super::Written;
use crate::{CliError, error::Kind};

impl Written {
    /// Refuses an entry of `sub_agents.models` that no model can fit.
    pub(super) fn check_allowed(&self, providers: &Providers) -> Result<(), CliError> {
        for assignment in self.assignments.iter().filter(|it| it.key.name == "sub_agents.models") {
            let entries = assignment.value.as_array().into_iter().flatten();
            for entry in entries.filter_map(Value::as_str) {
                check(entry, providers).map_err(|(why, hint)| {
                    let place = format!("{}: `sub_agents.models`", assignment.source);
                    CliError::new(Kind::Config, format!("{place} has `{entry}`, but {why}"))
                        .hint(hint)
                })?;
            }
        }
        Ok(())
    }
}

/// Returns why no model fits an entry, and what to do.
fn check(entry: &str, providers: &Providers) -> Result<(), (String, String)> {
    let (provider, model) = entry.split_once('/').unzip();
    let provider = provider.unwrap_or(entry);
    let is_known = provider == "scripted" || providers.find(provider).is_some();
    match model {
        _ if provider == "rehearsal" => Ok(()),
        Some(_) if is_known => Ok(()),
        None if is_known => {
            Err(("that is no model".to_owned(), format!("all of its models are `{entry}/*`")))
        }
        Some(_) | None => {
            let names: Vec<_> = providers.iter().map(|it| it.name.as_str()).collect();
            let hint = format!("there are: rehearsal, scripted, {}", names.join(", "));
            Err((format!("there is no provider `{provider}`"), hint))
        }
    }
}
