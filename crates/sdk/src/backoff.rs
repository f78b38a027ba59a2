//! Waits between attempts, with full jitter so that many clients do not reconnect at the same time.

use std::time::Duration;

use rand::RngExt;

/// Random waits between attempts. Each wait is between zero and a bound; the bound starts at `first` and
/// doubles up to `most`.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    attempt: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(500), Duration::from_secs(30))
    }
}

impl Backoff {
    /// Creates a backoff whose bound starts at `first` and grows to `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            attempt: 0,
        }
    }

    /// Restarts with the first bound, after a success.
    pub fn reset(&mut self) {
        self.attempt = 0;
    }

    /// Returns the next wait.
    pub fn next_wait(&mut self) -> Duration {
        self.next_wait_within(self.most)
    }

    /// Returns the next wait, with a lower upper bound.
    pub(crate) fn next_wait_within(&mut self, most: Duration) -> Duration {
        let bound = self
            .first
            .saturating_mul(1 << self.attempt.min(16))
            .min(self.most)
            .min(most);
        self.attempt += 1;
        bound.mul_f64(rand::rng().random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_within_doubling_bounds_and_start_anew_after_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(8));
        for bound in [1, 2, 4, 8, 8, 8] {
            assert!(backoff.next_wait() <= Duration::from_secs(bound));
        }
        let short = Duration::from_millis(10);
        assert!(backoff.next_wait_within(short) <= short);
        backoff.reset();
        assert!(backoff.next_wait() <= Duration::from_secs(1));
    }

    #[test]
    fn two_clients_do_not_wait_alike() {
        let waits: std::collections::HashSet<_> =
            (0..20).map(|_| Backoff::default().next_wait()).collect();
        assert!(waits.len() > 10);
    }
}
