//! What a person wants run before and after what agents do.

use std::sync::Arc;

use adjutant_core::{Hooks, Tool};
use adjutant_tools::{CommandHooks, Environment};

use crate::{CliError, authority::is_about_servers, config::Config, error::Kind, keeping};

/// Makes the hooks of a run, if there are any.
pub(crate) fn hooks(
    config: &Config,
    tools: &[Arc<dyn Tool>],
    environment: Environment,
) -> Result<Option<Arc<dyn Hooks>>, CliError> {
    if config.hooks.is_empty() {
        return Ok(None);
    }
    for hook in &config.hooks {
        let is_known = |tool: &Arc<dyn Tool>| {
            hook.calls.as_ref().is_none_or(|calls| calls.is_about(&tool.spec().name))
        };
        let is_foreign = hook.calls.as_ref().is_some_and(is_about_servers);
        if !is_foreign && !tools.iter().any(is_known) {
            let wrong = format!("`hooks.{}.match` is about no tool there is", hook.name);
            return Err(CliError::new(Kind::Config, wrong));
        }
    }
    let lost = || CliError::new(Kind::Internal, "hooks cannot be run: this program is not found");
    let keeper = keeping::keeper().ok_or_else(lost)?;
    Ok(Some(Arc::new(CommandHooks { hooks: config.hooks.clone(), keeper, environment })))
}
