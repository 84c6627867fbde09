//! Whether what is done after many calls of the root can be done.

use super::{Assignment, Source, Written};
use crate::{CliError, error::Kind};

/// In the order in which they are to act.
const KEYS: [&str; 3] = ["breaker.warn_at", "breaker.pause_at", "breaker.hard_stop_at"];

impl Written {
    /// Refuses a number of calls that is never reached, because another one acts first. What a
    /// preset says gives way to what people say.
    pub(super) fn check_breaker(&self) -> Result<(), CliError> {
        let by_people = KEYS.iter().filter_map(|key| {
            let last = self.assignments.iter().rfind(|it| it.key.name == *key)?;
            let is_preset = matches!(last.source, Source::Preset { .. });
            (!is_preset).then_some((last, last.value.as_integer()?))
        });
        let set: Vec<(&Assignment, i64)> = by_people.collect();
        for pair in set.windows(2) {
            let [(first, at), (next, limit)] = pair else { continue };
            if at >= limit {
                let (name, next) = (first.key.name, next.key.name);
                let source = &first.source;
                let wrong = format!(
                    "{source}: `{name}` is {at} and never acts, because `{next}` is {limit}"
                );
                let hint =
                    format!("set `{name}` to less than {limit}, or `{next}` to more than {at}");
                return Err(CliError::new(Kind::Config, wrong).hint(hint));
            }
        }
        Ok(())
    }
}
