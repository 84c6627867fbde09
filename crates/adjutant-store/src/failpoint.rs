//! A place to die at, for crash tests. Not in release builds.

use std::{env, process};

const VARIABLE: &str = "ADJUTANT_FAILPOINT";

/// Where the process is to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Events are committed and nobody has seen them.
    AfterCommit,
    /// Events are seen and nobody has been told that they are safe.
    AfterPublish,
}

/// The death that was asked for, if any.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Failpoint(Option<(Place, u64)>);

impl Failpoint {
    /// Reads the environment.
    pub(crate) fn from_env() -> Result<Self, String> {
        env::var_os(VARIABLE).map_or(Ok(Self::default()), |value| parse(&value.to_string_lossy()))
    }

    /// Ends the process if this is the place and the time.
    pub(crate) fn reach(&mut self, here: Place) {
        let Some((place, left)) = &mut self.0 else { return };
        if *place == here {
            *left -= 1;
            if *left == 0 {
                process::abort();
            }
        }
    }
}

fn parse(value: &str) -> Result<Failpoint, String> {
    let parts = value.split_once(':').and_then(|(place, count)| {
        let place = match place {
            "after_commit" => Place::AfterCommit,
            "after_publish" => Place::AfterPublish,
            _ => return None,
        };
        Some((place, count.parse().ok().filter(|count| *count > 0)?))
    });
    parts.map(|parts| Failpoint(Some(parts))).ok_or_else(|| {
        format!(
            "`{VARIABLE}={value}` is no failpoint: expected `after_commit:N` or \
             `after_publish:N`, N being 1 or more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failpoint_is_a_place_and_a_count() {
        assert_eq!(parse("after_commit:3"), Ok(Failpoint(Some((Place::AfterCommit, 3)))));
        assert_eq!(parse("after_publish:1"), Ok(Failpoint(Some((Place::AfterPublish, 1)))));
        for value in ["", "after_commit", "after_commit:0", "after_commit:-1", "elsewhere:1"] {
            assert!(parse(value).is_err(), "{value}");
        }
    }
}
