//! What a person wants run before and after what agents do.

use std::sync::Arc;

use adjutant_core::{Hooks, Tool};
use adjutant_tools::{CommandHooks, Environment, sandbox::Seals};

use crate::{CliError, authority::is_about_servers, config::Config, error::Kind, keeping};

/// Makes the hooks of a run, if there are any.
pub(crate) fn hooks(
    config: &Config,
    tools: &[Arc<dyn Tool>],
    environment: Environment,
    seals: Arc<Seals>,
) -> Result<Option<Arc<dyn Hooks>>, CliError> {
    if config.hooks.is_empty() {
        return Ok(None);
    }
    for hook in &config.hooks {
        let Some(calls) = &hook.calls else { continue };
        let is_known = |tool: &Arc<dyn Tool>| calls.is_about(&tool.spec().name);
        if !is_about_servers(calls) && !tools.iter().any(is_known) {
            let wrong = format!("`hooks.{}.match` is about no tool there is", hook.name);
            return Err(CliError::new(Kind::Config, wrong));
        }
    }
    let lost =
        || CliError::new(Kind::Config, "hooks cannot be run: there is no program to keep them");
    let keeper = keeping::keeper(config.program.as_deref().ok_or_else(lost)?);
    let hooks = config.hooks.clone();
    Ok(Some(Arc::new(CommandHooks { hooks, keeper, environment, seals })))
}
