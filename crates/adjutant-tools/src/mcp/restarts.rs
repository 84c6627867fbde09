//! How soon a server that ended may be started again.

use std::time::Duration;

use tokio::time::Instant;

/// The pause before the second restart in a row; it doubles with each.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// What runs for as long as this ran well.
const CALM: Duration = Duration::from_secs(300);

/// The latest starts of a server.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    latest: Option<Instant>,
    in_a_row: u32,
}

impl Restarts {
    /// Notes a start, or returns how much later it may be made: a server that dies at once is
    /// not started again and again.
    pub(crate) fn begin(&mut self, now: Instant) -> Result<(), Duration> {
        if let Some(latest) = self.latest {
            let since = now.duration_since(latest);
            if since >= CALM {
                self.in_a_row = 0;
            }
            let pause = match self.in_a_row {
                0 => Duration::ZERO,
                row => PAUSE.saturating_mul(1 << (row - 1).min(16)).min(LONGEST),
            };
            if since < pause {
                return Err(pause - since);
            }
            self.in_a_row += 1;
        }
        self.latest = Some(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(begin: Instant, millis: u64) -> Instant {
        begin + Duration::from_millis(millis)
    }

    #[test]
    fn one_restart_is_free_and_the_next_wait_longer_and_longer() {
        let (mut restarts, begin) = (Restarts::default(), Instant::now());
        let mut at = |millis| restarts.begin(after(begin, millis)).map_err(|it| it.as_millis());
        assert_eq!(at(0), Ok(()));
        assert_eq!(at(10), Ok(()));
        assert_eq!(at(20), Err(990));
        assert_eq!(at(1010), Ok(()));
        assert_eq!(at(2010), Err(1000));
        assert_eq!(at(3010), Ok(()));
        assert_eq!(at(6010), Err(1000));
        for start in 1..20 {
            assert_eq!(at(3010 + start * 60_000), Ok(()), "{start}");
        }
        assert_eq!(at(3010 + 19 * 60_000 + 59_999), Err(1));
    }

    #[test]
    fn what_ran_for_long_may_be_restarted_at_once() {
        let (mut restarts, begin) = (Restarts::default(), Instant::now());
        let mut at = |seconds: u64| restarts.begin(after(begin, seconds * 1000)).is_ok();
        assert!(at(0) && at(0) && !at(0));
        assert!(at(300) && !at(300));
    }
}
