//! Conversions between values and columns: times as sortable text, numbers as SQLite integers, checked texts
//! and JSON.

use std::error::Error;

use jiff::Timestamp;
use rusqlite::{Row, types::Type};
use serde::de::DeserializeOwned;

/// Formats a [`Timestamp`] as ISO-8601 in UTC with nine digits of a second: exact, readable, and sortable as
/// text.
pub(crate) fn time_text(time: Timestamp) -> String {
    format!("{time:.9}")
}

/// Converts an unsigned number to SQLite's signed 64 bits. Numbers chosen by agents may exceed the signed
/// range; [`unsigned`] restores them exactly.
pub(crate) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// Converts a size to SQLite's signed 64 bits.
pub(crate) fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Reads a number that [`signed`] converted.
pub(crate) fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

fn unreadable(
    row: &Row<'_>,
    column: &str,
    error: impl Into<Box<dyn Error + Send + Sync>>,
) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, error.into())
}

/// Reads a text and parses it.
pub(crate) fn parsed<T, E>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> rusqlite::Result<T>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let text = row.get_ref(column)?.as_str()?;
    parse(text).map_err(|error| unreadable(row, column, error))
}

/// Reads an id or a name that the hub assigned.
pub(crate) fn parsed_name<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    parsed(row, column, |text| {
        parse(text).ok_or_else(|| format!("{text:?} is not a {column}"))
    })
}

/// Reads an optional id that the hub assigned.
pub(crate) fn optional_name<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)?.as_str_or_null()? {
        Some(_) => parsed_name(row, column, parse).map(Some),
        None => Ok(None),
    }
}

/// Reads a time.
pub(crate) fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    parsed(row, column, str::parse::<Timestamp>)
}

/// Reads an optional time.
pub(crate) fn optional_time(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(|text| {
        text.parse()
            .map_err(|error: jiff::Error| unreadable(row, column, error))
    })
    .transpose()
}

/// Reads JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    parsed(row, column, |text| serde_json::from_str(text))
}

/// Reads optional JSON.
pub(crate) fn optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(|text| serde_json::from_str(text).map_err(|error| unreadable(row, column, error)))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_text_and_read_back_exactly() {
        let mut texts: Vec<String> = Vec::new();
        for nanos in [
            0,
            1,
            1_000_000,
            500_000_000,
            999_999_999,
            1_000_000_000,
            86_400_000_000_000_000,
        ] {
            let time = Timestamp::from_nanosecond(nanos + 1_700_000_000_000_000_000).unwrap();
            let text = time_text(time);
            assert_eq!(text.parse::<Timestamp>().unwrap(), time);
            texts.push(text);
        }
        assert!(texts.is_sorted(), "{texts:?}");
    }
}
