//! [`Size`] and [`Span`]: sizes and durations as people write them in a configuration file: `1MiB`, `30s`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Error of an unreadable size or duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUnit {
    /// Not a size.
    #[error("{0:?} is not a size: write a whole number with B, KiB, MiB or GiB")]
    Size(String),
    /// Not a duration.
    #[error("{0:?} is not a duration: write a whole number with ms, s, m, h or d")]
    Span(String),
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub usize);

/// A length of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

const SIZES: [(&str, usize); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const SPANS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

impl Size {
    /// Creates a size of so many KiB.
    pub const fn kib(n: usize) -> Self {
        Self(n << 10)
    }

    /// Creates a size of so many MiB.
    pub const fn mib(n: usize) -> Self {
        Self(n << 20)
    }
}

impl Span {
    /// Creates a span of so many seconds.
    pub const fn secs(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }

    /// Creates a span of so many milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(Duration::from_millis(n))
    }
}

/// Splits `30s` into 30 and `s`.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, text[digits..].trim_start()))
}

impl FromStr for Size {
    type Err = BadUnit;
    fn from_str(text: &str) -> Result<Self, BadUnit> {
        split(text)
            .and_then(|(n, unit)| {
                let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
                usize::try_from(n).ok()?.checked_mul(*factor)
            })
            .map(Self)
            .ok_or_else(|| BadUnit::Size(text.to_owned()))
    }
}

impl FromStr for Span {
    type Err = BadUnit;
    fn from_str(text: &str) -> Result<Self, BadUnit> {
        split(text)
            .and_then(|(n, unit)| {
                let (_, factor) = SPANS.iter().find(|(name, _)| *name == unit)?;
                n.checked_mul(*factor)
            })
            .map(|ms| Self(Duration::from_millis(ms)))
            .ok_or_else(|| BadUnit::Span(text.to_owned()))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = SIZES
            .iter()
            .find(|(_, factor)| self.0.is_multiple_of(*factor) && self.0 >= *factor)
            .unwrap_or(&SIZES[3]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let (unit, factor) = SPANS
            .iter()
            .find(|(_, factor)| ms.is_multiple_of(*factor) && ms >= *factor)
            .unwrap_or(&SPANS[3]);
        write!(f, "{}{unit}", ms / factor)
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
as_text!(Size);
as_text!(Span);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_read_back_as_written() {
        for text in ["1B", "64KiB", "8MiB", "2GiB", "1500B"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        for text in ["1ms", "30s", "10m", "23h", "7d", "1500ms"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_remedy() {
        for text in [
            "",
            "12",
            "s",
            "-1s",
            "1 week",
            "99999999999999999999s",
            "1MB",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert!(
            "1MB"
                .parse::<Size>()
                .unwrap_err()
                .to_string()
                .contains("MiB")
        );
    }
}
