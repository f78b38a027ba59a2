//! Random numbers that can be repeated from a seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that repeats a run.
const SEED: &str = "JACKFIELD_TEST_SEED";

/// A small generator.
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    /// Uses the seed of the environment, or a new seed; prints the seed for failing tests.
    pub(crate) fn new() -> Self {
        let seed = std::env::var(SEED).ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            u64::from(now.expect("after 1970").subsec_nanos())
        });
        eprintln!("{SEED}={seed} repeats this");
        Self::of(seed)
    }

    fn of(seed: u64) -> Self {
        // A seed with few bits would give small first numbers.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A second generator, for concurrent use.
    pub(crate) fn split(&mut self) -> Self {
        Self::of(self.next())
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
