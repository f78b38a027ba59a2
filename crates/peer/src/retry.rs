//! Delays between attempts at something that may come back: a relay, an agent behind HTTP, a registry.

use std::time::Duration;

use rand::RngExt as _;

use crate::limits;

/// Delays that double up to a limit. Each is a random part, at least half, of its bound, so that many waiting
/// peers do not return at the same moment.
#[derive(Debug, Default)]
pub struct RetryDelay {
    attempt: u32,
}

impl RetryDelay {
    /// Starts with the shortest delay.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets the delay after a success.
    pub fn start_over(&mut self) {
        self.attempt = 0;
    }

    /// Returns the delay before the next attempt.
    pub fn next_delay(&mut self) -> Duration {
        let bound = limits::AGAIN
            .saturating_mul(1 << self.attempt.min(16))
            .min(limits::AGAIN_MOST);
        self.attempt += 1;
        bound.mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_start_over_after_success() {
        let mut retry = RetryDelay::new();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let bound = Duration::from_secs(seconds);
            let wait = retry.next_delay();
            assert!(bound / 2 <= wait && wait <= bound, "{wait:?} of {bound:?}");
        }
        retry.start_over();
        assert!(retry.next_delay() <= Duration::from_secs(1));
    }
}
