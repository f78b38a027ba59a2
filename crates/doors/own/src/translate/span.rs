//! Durations in request bodies: seconds, or text with a unit.

use std::{borrow::Cow, time::Duration};

use jackfield_core::units::Span;
use serde::{Deserialize, Deserializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, RefOr, Schema, schema::Type},
};

/// Maximum duration of a request: people do not plan further ahead.
const SPAN_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Duration: a number of seconds, or a text such as `30s`, `10m`, `8h`, `30d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanBody(pub Duration);

impl<'de> Deserialize<'de> for SpanBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected seconds, or a text such as \"30s\" or \"8h\""
        )]
        enum Either {
            Seconds(f64),
            Text(String),
        }
        let span = match Either::deserialize(deserializer)? {
            // JSON does not distinguish 60 from 60.0.
            Either::Seconds(seconds) if seconds.fract() == 0.0 => {
                Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)?
            }
            Either::Seconds(_) => return Err(D::Error::custom("seconds must be a whole number")),
            Either::Text(text) => text.parse::<Span>().map_err(D::Error::custom)?.0,
        };
        if span.is_zero() || span > SPAN_MAX {
            return Err(D::Error::custom("a time must be from 1ms to 366d"));
        }
        Ok(Self(span))
    }
}

impl PartialSchema for SpanBody {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(
                "^[1-9][0-9]{0,6}(ms|s)$|^[1-9][0-9]{0,3}m$|^[1-9][0-9]?[hd]$",
            ))
            .description(Some("A whole number with ms, s, m, h or d, up to 366 days"));
        let seconds = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(366 * 24 * 3600))
            .description(Some("Seconds"));
        OneOfBuilder::new().item(text).item(seconds).into()
    }
}

impl ToSchema for SpanBody {
    fn name() -> Cow<'static, str> {
        "Span".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str) -> Option<Duration> {
        serde_json::from_str::<SpanBody>(text)
            .ok()
            .map(|span| span.0)
    }

    #[test]
    fn times_are_seconds_or_text() {
        assert_eq!(span("90"), Some(Duration::from_secs(90)));
        assert_eq!(span("90.0"), span("90"));
        assert_eq!(span("\"8h\""), Some(Duration::from_secs(8 * 3600)));
        assert_eq!(span("\"366d\""), Some(SPAN_MAX));
        for bad in [
            "0",
            "-1",
            "1.5",
            "\"0s\"",
            "\"367d\"",
            "\"8\"",
            "\"\"",
            "null",
            "[]",
            "18446744073709551615",
            "1e300",
        ] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
