//! How long to wait before a failed model call is tried again.

use std::time::Duration;

use adjutant_core::{Backoff, ModelError, Retry};

/// As long as anybody waits for a provider, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Returns the pause after the `attempt`th failure. What the provider asked for is the least; the
/// jitter on top keeps a tree of agents from coming back all at once.
pub(crate) fn pause(retry: &Retry, attempt: u32, error: &ModelError) -> Duration {
    let times = match retry.backoff {
        Backoff::Exponential => 1 << attempt.saturating_sub(1).min(16),
        Backoff::Linear => attempt,
        Backoff::Fixed => 1,
    };
    let backoff = retry.base.saturating_mul(times).min(retry.cap);
    match error.retry_after {
        Some(asked) => {
            let asked = asked.min(LONGEST);
            asked + backoff.min(asked).mul_f64(fastrand::f64() / 4.0)
        }
        None => backoff.mul_f64(0.5 + fastrand::f64() / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_core::Trouble;

    #[test]
    fn pauses_grow_to_the_cap_and_differ() {
        let retry = Retry::default();
        let error = ModelError::new(Trouble::Busy, "");
        for attempt in 1..40 {
            let pause = pause(&retry, attempt, &error);
            let full = retry.base.saturating_mul(1 << (attempt - 1).min(16)).min(retry.cap);
            assert!(pause >= full / 2 && pause <= full, "{attempt}: {pause:?}");
        }
        let pauses: std::collections::HashSet<_> =
            (0..16).map(|_| pause(&retry, 4, &error)).collect();
        assert!(pauses.len() > 1);
    }

    #[test]
    fn what_the_provider_asked_for_is_the_least() {
        let asked = Duration::from_secs(7);
        let error = ModelError { retry_after: Some(asked), ..ModelError::new(Trouble::Busy, "") };
        for _ in 0..100 {
            let pause = pause(&Retry::default(), 1, &error);
            assert!(pause >= asked && pause < asked * 2, "{pause:?}");
        }
        let error = ModelError { retry_after: Some(Duration::MAX), ..error };
        assert!(pause(&Retry::default(), 1, &error) < LONGEST * 2);
    }
}
