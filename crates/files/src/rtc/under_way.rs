//! How much may be under way at once. Much is needed where the other side is far; where it is near it only costs time, since
//! str0m looks at all of it with every packet.

use std::time::Duration;

use super::queue::FULL;

/// Enough for a machine nearby.
const LEAST: usize = 128 * 1024;
/// The pace that should be possible whatever the distance, in bytes a second.
const PACE: f64 = 50e6;

/// The limit, by the shortest time to the other side and back: longer ones are made by what is under way.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    round_trip: Option<Duration>,
}

impl UnderWay {
    /// The time to the other side and back was this.
    pub(super) fn learn(&mut self, round_trip: Duration) {
        let shortest = self.round_trip.unwrap_or(Duration::MAX);
        self.round_trip = Some(shortest.min(round_trip));
    }

    /// From how many bytes on nothing is added.
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
            let mut under_way = UnderWay::default();
            times
                .iter()
                .for_each(|time| under_way.learn(Duration::from_millis(*time)));
            under_way.limit()
        };
        assert_eq!(limit_at(&[]), LEAST);
        assert_eq!(limit_at(&[1]), LEAST);
        assert_eq!(limit_at(&[10]), 500_000);
        assert_eq!(limit_at(&[10, 200]), 500_000);
        assert_eq!(limit_at(&[200]), FULL);
    }
}
