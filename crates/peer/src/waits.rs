//! The waits between attempts at something that may come back: a relay, an agent behind HTTP, a registry.

use std::time::Duration;

use rand::RngExt as _;

use crate::limits;

/// Waits that double, each at least half as long as it may be, so that those who wait for the same thing do not all come
/// at once when it is back.
#[derive(Debug)]
pub struct Waits {
    attempt: u32,
}

impl Waits {
    /// Starts with the shortest delay.
    pub fn new() -> Self {
        Self { attempt: 0 }
    }

    /// It worked: the next failure is the first again.
    pub fn start_over(&mut self) {
        self.attempt = 0;
    }

    /// How long to wait now.
    pub fn next(&mut self) -> Duration {
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
        let mut waits = Waits::new();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let bound = Duration::from_secs(seconds);
            let wait = waits.next();
            assert!(bound / 2 <= wait && wait <= bound, "{wait:?} of {bound:?}");
        }
        waits.start_over();
        assert!(waits.next() <= Duration::from_secs(1));
    }
}
