//! What the root may do, as the person wrote it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Access, Charter, Grant, Pattern, Rules, Tool};
use adjutant_tools::sandbox::{git_leads, start_up};

use crate::{CliError, agents::Lead, config::Config, error::Kind, programs::Program};

/// Makes the root's authority, in which files that are run outside the sandbox stay what they are,
/// and what is shown is looked into though it is outside the scope.
#[expect(clippy::disallowed_methods, reason = "this is the one place that mints authority")]
pub(crate) fn grant(
    config: &Config,
    directory: &Path,
    programs: &[Program],
    lead: Option<&Lead>,
    shown: Option<PathBuf>,
) -> Grant {
    let held = programs.iter().flat_map(|program| program.protected(directory));
    // Other files of the person are nobody's to see, and these are not the runtime's own.
    let leads = git_leads(&directory.join(".git")).into_iter().chain(start_up());
    let leads = leads.filter(|path| path.starts_with(directory) && path != directory);
    let charter = Charter {
        mode: config.mode,
        rules: config.rules.clone(),
        access: Access::Inherit,
        scope: vec![directory.to_owned()],
        protected: config.own_places.iter().cloned().chain(held).chain(leads).collect(),
        shown: shown.into_iter().collect(),
        depth: if config.nests { config.max_depth } else { config.max_depth.min(1) },
    };
    Grant::mint(match lead {
        Some(lead) => lead.charter(charter),
        None => charter,
    })
}

/// A rule about a tool that does not exist protects nothing; whoever wrote it should know.
pub(crate) fn check_rules(layers: &[Rules], tools: &[Arc<dyn Tool>]) -> Result<(), CliError> {
    let patterns: Vec<_> = layers.iter().flat_map(Rules::patterns).collect();
    let is_pointless = |rule: &&&Pattern| is_about_servers(rule) && rule.to_string().contains('(');
    if let Some(rule) = patterns.iter().find(is_pointless) {
        let wrong = format!("the rule `{rule}` has a pattern, and servers' tools have none");
        return Err(CliError::new(Kind::Config, wrong).hint("write the name of the tool alone"));
    }
    let Some(rule) = patterns.iter().find(|rule| is_idle(rule, tools)) else { return Ok(()) };
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    Err(CliError::new(Kind::Config, format!("the rule `{rule}` is about no tool there is"))
        .hint(format!("there are: {}", names.join(", "))))
}

/// Reports whether a rule is about no tool there is.
pub(crate) fn is_idle(rule: &Pattern, tools: &[Arc<dyn Tool>]) -> bool {
    !is_about_servers(rule) && !tools.iter().any(|tool| rule.is_about(&tool.spec().name))
}

/// Reports whether a rule is about the tools of servers, which may have any, or be away.
pub(crate) fn is_about_servers(rule: &Pattern) -> bool {
    rule.to_string().starts_with("mcp__")
}

/// Tells what of the project's file does not hold, if anything.
pub(crate) fn doubts(config: &Config) -> Option<String> {
    let (_, source) = config.untrusted.first()?;
    let count = config.untrusted.len();
    Some(format!(
        "{source}: {count} of the rules that allow do not hold until you agree: \
         `adjutant trust` shows them"
    ))
}
