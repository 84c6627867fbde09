//! Whether what is done after many calls of the root can be done.

use super::{Assignment, Source, Written};
use crate::{CliError, error::Kind};

/// In the order in which they are to act.
const KEYS: [&str; 3] = ["breaker.warn_at", "breaker.pause_at", "breaker.hard_stop_at"];

impl Written {
    /// Refuses a number of calls that somebody set and that is never reached, because another
    /// one acts first. What a preset says may be overtaken by what people say.
    pub(super) fn check_breaker(&self) -> Result<(), CliError> {
        let set = KEYS.iter().filter_map(|key| {
            let last = self.assignments.iter().rfind(|it| it.key.name == *key)?;
            Some((last, last.value.as_integer()?))
        });
        let set: Vec<(&Assignment, i64)> = set.collect();
        for (place, (first, at)) in set.iter().enumerate() {
            let overtakes = |(_, limit): &&(&Assignment, i64)| at >= limit;
            let sooner = set[place + 1..].iter().find(overtakes);
            let Assignment { key, source, .. } = first;
            if let (Some((next, limit)), false) = (sooner, matches!(source, Source::Preset { .. }))
            {
                let (name, next) = (key.name, next.key.name);
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
