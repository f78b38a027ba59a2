//! Limit for data in flight. A distant peer needs a high limit; for a near peer a high limit only costs time,
//! because str0m scans all data in flight with every packet.

use std::time::Duration;

use super::queue::FULL;

/// Lower bound, enough for a near peer.
const LEAST: usize = 128 * 1024;
/// Throughput to allow at any distance, in bytes per second.
const PACE: f64 = 50e6;

/// Limit by the shortest round-trip time, because longer times are caused by the data in flight.
#[derive(Debug, Default)]
pub(super) struct InFlightLimit {
    round_trip: Option<Duration>,
}

impl InFlightLimit {
    /// Records a round-trip time.
    pub(super) fn record_round_trip(&mut self, round_trip: Duration) {
        let shortest = self.round_trip.unwrap_or(Duration::MAX);
        self.round_trip = Some(shortest.min(round_trip));
    }

    /// Returns the limit in bytes.
    pub(super) fn limit(&self) -> usize {
        let round_trip = self.round_trip.unwrap_or_default().as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number that saturates"
        )]
        let needed = (round_trip * PACE) as usize;
        needed.clamp(LEAST, FULL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farther_the_other_side_the_more_is_under_way() {
        let limit_at = |times: &[u64]| {
            let mut under_way = InFlightLimit::default();
            times
                .iter()
                .for_each(|time| under_way.record_round_trip(Duration::from_millis(*time)));
            under_way.limit()
        };
        assert_eq!(limit_at(&[]), LEAST);
        assert_eq!(limit_at(&[1]), LEAST);
        assert_eq!(limit_at(&[10]), 500_000);
        assert_eq!(limit_at(&[10, 200]), 500_000);
        assert_eq!(limit_at(&[200]), FULL);
    }
}
