//! The arithmetic of a comparison: medians of ratios within the same round, together with the ratio of two
//! identical servers. Pure functions.

/// Ratio of the identical pair above which a comparison counts as noisy: smaller differences prove nothing.
pub(crate) const NOISY: f64 = 1.15;

/// Returns the median; the mean of the two middle values for an even count, zero for no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.as_slice() {
        [] => 0.0,
        odd if odd.len() % 2 == 1 => odd[middle],
        even => f64::midpoint(even[middle - 1], even[middle]),
    }
}

/// Median, minimum and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        Self {
            median: median(values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// Measurements of a subject and a baseline in rounds. Each round measures the baseline twice, to show the
/// difference between identical servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    ours: Vec<f64>,
    base: Vec<f64>,
    base_again: Vec<f64>,
}

impl Comparison {
    /// Adds a round.
    pub(crate) fn add(&mut self, ours: f64, base: f64, base_again: f64) {
        self.ours.push(ours);
        self.base.push(base);
        self.base_again.push(base_again);
    }

    /// Returns the ratio of the subject to the mean of the pair, round by round.
    pub(crate) fn ratio(&self) -> Spread {
        let ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(self.pair())
            .map(|(ours, (base, base_again))| ours / f64::midpoint(base, base_again))
            .collect();
        Spread::of(&ratios)
    }

    /// Returns the ratio of the larger to the smaller value of the identical pair, round by round: at least
    /// 1.
    pub(crate) fn identical(&self) -> Spread {
        let ratios: Vec<f64> = self
            .pair()
            .map(|(base, base_again)| base.max(base_again) / base.min(base_again))
            .collect();
        Spread::of(&ratios)
    }

    /// Returns whether differences of a few percent prove nothing in this comparison.
    pub(crate) fn is_noisy(&self) -> bool {
        self.identical().median > NOISY
    }

    pub(crate) fn ours(&self) -> f64 {
        median(&self.ours)
    }

    pub(crate) fn base(&self) -> f64 {
        let both: Vec<f64> = self.base.iter().chain(&self.base_again).copied().collect();
        median(&both)
    }

    fn pair(&self) -> impl Iterator<Item = (f64, f64)> {
        self.base
            .iter()
            .copied()
            .zip(self.base_again.iter().copied())
    }
}

/// Returns the order of `count` items in a round; each round begins with the next item.
pub(crate) fn rotated(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| (at + round) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut comparison = Comparison::default();
        // The machine was twice as slow in the second round: the ratio does not care.
        comparison.add(1.2, 1.0, 1.0);
        comparison.add(2.4, 2.0, 2.0);
        assert_eq!(comparison.ratio().median, 1.2);
        assert_eq!(comparison.ratio().min, comparison.ratio().max);
        assert_eq!(comparison.identical().median, 1.0);
        assert!(!comparison.is_noisy());
    }

    #[test]
    fn an_identical_pair_that_differs_is_noisy_whichever_is_larger() {
        let mut comparison = Comparison::default();
        comparison.add(1.0, 1.0, 1.3);
        comparison.add(1.0, 1.3, 1.0);
        assert_eq!(comparison.identical().median, 1.3);
        assert!(comparison.is_noisy());
    }

    #[test]
    fn everybody_begins_a_round_in_turn() {
        assert_eq!(rotated(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rotated(3, 4).collect::<Vec<_>>(), [1, 2, 0]);
    }
}
