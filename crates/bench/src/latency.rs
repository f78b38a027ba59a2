//! Latencies of requests, and their percentiles.

/// Latencies in microseconds, sorted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    pub(crate) fn new(mut microseconds: Vec<f64>) -> Self {
        microseconds.sort_by(f64::total_cmp);
        Self(microseconds)
    }

    /// Returns the latency that this share of the requests did not exceed; zero without any request.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        let at = rank.saturating_sub(1).min(self.0.len().saturating_sub(1));
        self.0.get(at).copied().unwrap_or(0.0)
    }

    pub(crate) fn p50(&self) -> f64 {
        self.percentile(0.5)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.percentile(0.99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_measured_latency() {
        let hundred = Latencies::new((1..=100).rev().map(f64::from).collect());
        assert_eq!((hundred.p50(), hundred.p99()), (50.0, 99.0));
        assert_eq!(hundred.percentile(1.0), 100.0);
        let three = Latencies::new(vec![3.0, 1.0, 2.0]);
        assert_eq!((three.p50(), three.p99()), (2.0, 3.0));
        assert_eq!(Latencies::default().p99(), 0.0);
    }
}
