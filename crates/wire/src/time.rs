//! Points in time as RFC 3339 text, always written in UTC.

use jiff::{Timestamp, fmt::temporal::DateTimePrinter};

/// Maximum number of fraction digits that other readers accept.
const MAX_FRACTION: usize = 9;

/// Converts an RFC 3339 time to UTC, ending in `Z`; `None` if `text` is not RFC 3339. A time without a zone
/// counts as UTC. The fraction of a second keeps its digits, up to the number that other readers accept.
pub fn to_utc(text: &str) -> Option<String> {
    // jiff accepts more than RFC 3339: shorter and longer forms, leap seconds, offsets of a day and more.
    let (clock, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    let (date, time) = clock.split_at_checked("0000-00-00".len())?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    if !has_form(date, "0000-00-00") || !has_form(time, "00:00:00") || time.ends_with("60") {
        return None;
    }
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => {
            let end = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, zone) = rest.split_at(end);
            if fraction.is_empty() {
                return None;
            }
            (&fraction[..end.min(MAX_FRACTION)], zone)
        }
    };
    let zone = match zone {
        "" | "Z" | "z" => "Z",
        zone if has_form(zone, "+00:00") && zone[1..] < *"24" => zone,
        _ => return None,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let time: Timestamp = format!("{date}T{time}{point}{fraction}{zone}")
        .parse()
        .ok()?;
    print(time, fraction.len())
}

/// Formats the time `millis` milliseconds after 1970; `None` for negative numbers, and for years beyond four
/// digits.
pub fn from_millis(millis: i64) -> Option<String> {
    let time = Timestamp::from_millisecond(millis).ok()?;
    (millis >= 0).then_some(())?;
    print(time, 3)
}

/// Returns whether `text` matches `form`: a digit for each zero, a sign for each plus, and the same character
/// elsewhere.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(given, wanted): (u8, u8)| match wanted {
        b'0' => given.is_ascii_digit(),
        b'+' => matches!(given, b'+' | b'-'),
        wanted => given == wanted,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// Formats a [`Timestamp`] with `digits` digits of the fraction; `None` before the year 1.
fn print(time: Timestamp, digits: usize) -> Option<String> {
    let precision = u8::try_from(digits).ok();
    let text = DateTimePrinter::new()
        .precision(precision)
        .timestamp_to_string(&time);
    let is_of_our_era = !text.starts_with('-') && !text.starts_with("0000");
    is_of_our_era.then_some(text)
}
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_time_becomes_utc_and_keeps_its_fraction() {
        for (text, expected) in [
            ("2026-11-16T10:20:30Z", "2026-11-16T10:20:30Z"),
            ("2026-11-16T10:20:30.120z", "2026-11-16T10:20:30.120Z"),
            ("2026-11-16t10:20:30.5+00:00", "2026-11-16T10:20:30.5Z"),
            ("2026-11-16 10:20:30", "2026-11-16T10:20:30Z"),
            (
                "2026-01-01T00:30:00.123456+02:00",
                "2025-12-31T22:30:00.123456Z",
            ),
            ("2024-02-28T23:59:59-00:01", "2024-02-29T00:00:59Z"),
            (
                "1969-12-31T23:59:59.1234567891Z",
                "1969-12-31T23:59:59.123456789Z",
            ),
        ] {
            assert_eq!(to_utc(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "now",
            "2026-11-16",
            "2026-11-16T10:20Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-16T24:00:00Z",
            "2026-11-16T10:20:60Z",
            "2026-11-16T10:20:30.Z",
            "2026-11-16T10:20:30+2:00",
            "2026-11-16T10:20:30+24:00",
            "2026-11-16T10:20:30Zz",
            "0001-01-01T00:00:00+01:00",
            "+026-11-16T10:20:30Z",
            "2026-11-16Té0:20:30Z",
        ] {
            assert_eq!(to_utc(text), None, "{text}");
        }
    }

    #[test]
    fn milliseconds_are_counted_from_1970() {
        assert_eq!(from_millis(0).unwrap(), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            from_millis(1_000_000_000_012).unwrap(),
            "2001-09-09T01:46:40.012Z"
        );
        assert_eq!(from_millis(-1), None);
        assert_eq!(from_millis(i64::MAX), None);
    }

    proptest! {
        #[test]
        fn a_time_from_milliseconds_is_in_utc_already(millis in 0..=Timestamp::MAX.as_millisecond()) {
            let text = from_millis(millis).unwrap();
            let time: Timestamp = text.parse().unwrap();
            prop_assert_eq!(time.as_millisecond(), millis);
            prop_assert_eq!(to_utc(&text).unwrap(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), like in "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].{0,20}") {
            to_utc(&text);
            to_utc(&like);
        }
    }
}
