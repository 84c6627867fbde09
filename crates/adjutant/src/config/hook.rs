//! Hooks, as people write them.

use std::{collections::BTreeMap, time::Duration};

use adjutant_core::Pattern;
use adjutant_tools::{Hook, HookEvent};

use super::Written;
use crate::{CliError, error::Kind};

/// How long a hook may take when nobody says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// What is set for one hook.
#[derive(Clone, Debug, Default)]
pub(super) struct HookSettings {
    pub(super) event: Option<HookEvent>,
    pub(super) calls: Option<Pattern>,
    pub(super) command: Option<String>,
    pub(super) timeout: Option<Duration>,
}

impl HookSettings {
    /// Makes the hook, or says which of its keys is wrong or missing, and why.
    fn finish(self, name: String) -> Result<Hook, (&'static str, String)> {
        let missing = |key, what: &str| (key, format!("is missing: {what}"));
        let event = self.event.ok_or_else(|| missing("event", "say when the hook runs"))?;
        let command = self.command.ok_or_else(|| missing("command", "say what is run"))?;
        let has_calls = matches!(event, HookEvent::BeforeTool | HookEvent::AfterTool);
        if self.calls.is_some() && !has_calls {
            let why = format!("is about tools, and `{}` is not: leave it out", event.name());
            return Err(("match", why));
        }
        let timeout = self.timeout.unwrap_or(USUAL_TIMEOUT);
        Ok(Hook { name, event, calls: self.calls, command, timeout })
    }
}

impl Written {
    /// Makes the hooks of their settings, in the order of their names.
    pub(super) fn hooks(
        &self,
        settings: BTreeMap<String, HookSettings>,
    ) -> Result<Vec<Hook>, CliError> {
        let finish = |(name, settings): (String, HookSettings)| {
            settings.finish(name.clone()).map_err(|(key, why)| self.complain_of(&name, key, &why))
        };
        settings.into_iter().map(finish).collect()
    }

    /// Says where a hook is written that is none.
    fn complain_of(&self, hook: &str, key: &str, why: &str) -> CliError {
        let key = format!("hooks.{hook}.{key}");
        let section = format!("hooks.{hook}.");
        let mut ours = self.assignments.iter().rev().filter(|it| it.name().starts_with(&section));
        let exact = self.assignments.iter().rfind(|it| it.name() == key);
        let place = exact.or_else(|| ours.next()).map(|it| format!("{}: ", it.source));
        CliError::new(Kind::Config, format!("{}`{key}` {why}", place.unwrap_or_default()))
    }
}
