//! [`Quota`]: counts the calls of other agents that an agent took within the last hour. Memory is bounded: the calls of about one minute are counted together, so that a call counts for 59 to 60 minutes.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Calls of the last hour: the start of each minute that began with a call, and its number of calls.
#[derive(Debug, Default)]
pub(super) struct Quota(VecDeque<(Instant, u32)>);

impl Quota {
    /// Returns the number of calls within the hour before `now`.
    pub(super) fn used(&mut self, now: Instant) -> u32 {
        let is_old = |(began, _): &(Instant, u32)| now.saturating_duration_since(*began) >= HOUR;
        while self.0.front().is_some_and(is_old) {
            self.0.pop_front();
        }
        let counts = self.0.iter().map(|(_, count)| *count);
        counts.fold(0, u32::saturating_add)
    }

    /// Counts a call.
    pub(super) fn count(&mut self, now: Instant) {
        match self.0.back_mut() {
            Some((began, count)) if now.saturating_duration_since(*began) < MINUTE => {
                *count = count.saturating_add(1);
            }
            _ => self.0.push_back((now, 1)),
        }
        self.used(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_for_an_hour_and_memory_is_bounded() {
        let (start, mut quota) = (Instant::now(), Quota::default());
        quota.count(start);
        quota.count(start + Duration::from_secs(59));
        assert_eq!(quota.used(start + HOUR - Duration::from_secs(1)), 2);
        assert_eq!(quota.used(start + HOUR), 0);
        for second in 0..20_000 {
            quota.count(start + Duration::from_secs(second));
            assert!(quota.0.len() <= 61);
        }
        let used = quota.used(start + Duration::from_secs(20_000));
        assert!((3540..=3600).contains(&used), "{used}");
    }
}
