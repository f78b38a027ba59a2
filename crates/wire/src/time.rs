//! Points in time: RFC 3339, always in UTC when it comes from here.

use std::fmt::Write as _;

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

/// The most digits of a fraction that other readers take.
const MAX_FRACTION: usize = 9;

/// A point in time as it was written.
#[derive(Debug, Clone, Copy)]
struct Point<'a> {
    /// Seconds since 1970, in UTC.
    seconds: i64,
    /// The digits of the fraction of a second.
    fraction: &'a str,
}

/// The same point in time in UTC, ending in `Z`; `None` if `text` is no RFC 3339. A time without a zone counts as UTC.
pub fn to_utc(text: &str) -> Option<String> {
    let point = Point::read(text)?;
    let mut out = String::with_capacity("0000-00-00T00:00:00.000000000Z".len());
    push_seconds(&mut out, point.seconds)?;
    if !point.fraction.is_empty() {
        out.push('.');
        out.push_str(point.fraction);
    }
    out.push('Z');
    Some(out)
}

/// The time that is so many milliseconds after 1970; `None` before that, and after the year 9999.
pub fn from_millis(millis: i64) -> Option<String> {
    if millis < 0 {
        return None;
    }
    let mut out = String::with_capacity("0000-00-00T00:00:00.000Z".len());
    push_seconds(&mut out, millis / 1000)?;
    // Writing to a `String` cannot fail.
    write!(out, ".{:03}Z", millis % 1000).unwrap_or_default();
    Some(out)
}

impl<'a> Point<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (date, rest) = text.split_at_checked("0000-00-00".len())?;
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let (clock, rest) = rest.split_at_checked("00:00:00".len())?;
        let [year, month, day] = numbers(date, "-", [4, 2, 2])?;
        let [hour, minute, second] = numbers(clock, ":", [2, 2, 2])?;
        let in_range = (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !in_range {
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
        let clock = (hour * 60 + minute) * 60 + second;
        let seconds = days_before(year, month, day) * SECONDS_OF_DAY + clock - offset(zone)?;
        Some(Self { seconds, fraction })
    }
}

/// How many seconds the clocks of a zone are ahead.
fn offset(zone: &str) -> Option<i64> {
    let (sign, clock) = match zone.as_bytes().first() {
        None => return Some(0),
        Some(b'Z' | b'z') if zone.len() == 1 => return Some(0),
        Some(b'+') => (1, &zone[1..]),
        Some(b'-') => (-1, &zone[1..]),
        Some(_) => return None,
    };
    let [hour, minute] = numbers(clock, ":", [2, 2])?;
    (hour < 24 && minute < 60).then_some(sign * (hour * 60 + minute) * 60)
}

/// Numbers of just these widths, with something between them.
fn numbers<const N: usize>(text: &str, between: &str, widths: [usize; N]) -> Option<[i64; N]> {
    let mut found = [0; N];
    let mut pieces = text.split(between);
    for (number, width) in found.iter_mut().zip(widths) {
        let piece = pieces.next()?;
        if piece.len() != width || !piece.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = piece.parse().ok()?;
    }
    pieces.next().is_none().then_some(found)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to a date. Years are counted from March, so that the leap day is the last of its year.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - DAYS_TO_1970
}

/// The days from March 1st of the year 0 to 1970.
const DAYS_TO_1970: i64 = 719_468;

/// Appends date and time of a second since 1970; `None` if its year has not four digits.
fn push_seconds(out: &mut String, seconds: i64) -> Option<()> {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = seconds.div_euclid(SECONDS_OF_DAY) + DAYS_TO_1970;
    let clock = seconds.rem_euclid(SECONDS_OF_DAY);
    let cycle = days.div_euclid(DAYS_OF_400_YEARS);
    let day = days.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_cycle = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    if !(1..=9999).contains(&year) {
        return None;
    }
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    write!(
        out,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    )
    .ok()
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
        fn a_time_from_milliseconds_is_in_utc_already(millis in 0i64..253_402_300_800_000) {
            let text = from_millis(millis).unwrap();
            let point = Point::read(&text).unwrap();
            prop_assert_eq!(point.seconds, millis / 1000);
            prop_assert_eq!(point.fraction.parse(), Ok(millis % 1000));
            prop_assert_eq!(to_utc(&text).unwrap(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), like in "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].{0,20}") {
            to_utc(&text);
            to_utc(&like);
        }
    }
}
