//! Canonical form of JSON (RFC 8785): a unique text for a value, so that two programs sign the same bytes.
//!
//! `serde_json_canonicalizer` sorts, escapes and writes numbers. Parsing is done here, with three rules:
//! repeated names have no canonical form, numbers beyond the range of doubles have none either, and a lone
//! surrogate becomes U+FFFD as everywhere else.

use std::{borrow::Cow, fmt::Write as _};

use jackfield_wire::json::{MAX_DEPTH, RawMembers, depth_exceeds, elements, str_of};
use serde_json::{Map, Number, Value, value::RawValue};

/// Treatment of empty values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyValues {
    /// Empty values are written.
    Kept,
    /// Members and elements are left out if null, an empty string, array or object, or empty after leaving
    /// out.
    Dropped,
}

/// Returns the canonical form of a value. Returns `None` for invalid JSON, too deep nesting, a repeated
/// member (readers disagree on the valid one), and a number beyond the range of doubles.
pub(crate) fn canonical(value: &str, empty: EmptyValues) -> Option<String> {
    if depth_exceeds(value.trim_ascii(), MAX_DEPTH) {
        return None;
    }
    let mut value = value_of(serde_json::from_str(value).ok()?)?;
    if empty == EmptyValues::Dropped {
        drop_empty(&mut value);
        if is_empty(&value) {
            value = Value::Object(Map::new());
        }
    }
    serde_json_canonicalizer::to_string(&value).ok()
}

fn value_of(raw: &RawValue) -> Option<Value> {
    if let Some(text) = str_of(raw) {
        return Some(Value::String(text.into_owned()));
    }
    if let Some(members) = RawMembers::of(raw) {
        let mut object = Map::new();
        for member in members.iter() {
            let value = value_of(member.value)?;
            if object.insert(member.name.to_string(), value).is_some() {
                return None;
            }
        }
        return Some(Value::Object(object));
    }
    if let Some(elements) = elements(raw) {
        let elements = elements.into_iter().map(value_of);
        return elements.collect::<Option<_>>().map(Value::Array);
    }
    match raw.get() {
        "null" => Some(Value::Null),
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        number => Number::from_f64(number.parse().ok()?).map(Value::Number),
    }
}

/// Removes empty values from `value`, innermost first.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Array(elements) => {
            elements.iter_mut().for_each(drop_empty);
            elements.retain(|element| !is_empty(element));
        }
        Value::Object(members) => {
            members.values_mut().for_each(drop_empty);
            members.retain(|_, member| !is_empty(member));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Escapes all characters other than printable ASCII, like Python's `json.dumps`. Such characters occur only
/// in strings, so the whole text can be escaped at once.
pub(crate) fn ascii(json: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii() && c != '\u{7f}';
    if json.chars().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() * 2);
    for c in json.chars() {
        if is_plain(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                write!(out, "\\u{unit:04x}").unwrap_or_default();
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(value: &str) -> Option<String> {
        canonical(value, EmptyValues::Kept)
    }

    #[test]
    fn members_are_sorted_by_utf16_and_nothing_stands_between_them() {
        let value = r#" { "b" : [ 1 , { "z":null, "a" : true } ], "a\u20ac":"x", "a":"", "\ud83d\ude00":1, "\ufb33":2 } "#;
        let expected =
            "{\"a\":\"\",\"a€\":\"x\",\"b\":[1,{\"a\":true,\"z\":null}],\"😀\":1,\"\u{fb33}\":2}";
        assert_eq!(kept(value).unwrap(), expected);
    }

    #[test]
    fn strings_are_escaped_as_little_as_can_be() {
        let value = r#""\u20ac$\u000F\nA'\u0042\"\\\/\u007f\u2028""#;
        let expected = "\"€$\\u000f\\nA'B\\\"\\\\/\u{7f}\u{2028}\"";
        assert_eq!(kept(value).unwrap(), expected);
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (number, expected) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("-42", "-42"),
            ("333333333.33333329", "333333333.3333333"),
            ("1E30", "1e+30"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000001", "0.000001"),
            ("0.000000000000000000000000001", "1e-27"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("9007199254740993", "9007199254740992"),
            ("123456.789", "123456.789"),
            // Halfway between two ways to write it, the even digit is the one.
            ("600000000000000.25", "600000000000000.2"),
            ("1.5e300", "1.5e+300"),
        ] {
            assert_eq!(kept(number).as_deref(), Some(expected), "{number}");
        }
        assert_eq!(kept("1e999"), None);
    }

    #[test]
    fn what_is_empty_can_be_dropped_with_what_becomes_empty_by_it() {
        let value = r#"{"a":{"b":[{"c":""},[]]},"d":false,"e":0,"f":null,"g":["",1]}"#;
        assert_eq!(
            canonical(value, EmptyValues::Dropped).unwrap(),
            r#"{"d":false,"e":0,"g":[1]}"#
        );
        assert_eq!(
            canonical(r#"{"a":[]}"#, EmptyValues::Dropped).unwrap(),
            "{}"
        );
        assert_eq!(kept(r#"{"a":[]}"#).unwrap(), r#"{"a":[]}"#);
    }

    #[test]
    fn what_is_no_value_or_ambiguous_or_too_deep_has_no_canonical_form() {
        let twice = r#"[{"a":1,"b":2,"\u0061":""}]"#;
        for bad in ["", "{", "[1,]", "{\"a\":01}", twice] {
            assert_eq!(kept(bad), None, "{bad}");
        }
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(kept(&deep(MAX_DEPTH)).is_some());
        assert_eq!(kept(&deep(MAX_DEPTH + 1)), None);
    }

    #[test]
    fn ascii_escapes_what_python_does() {
        assert_eq!(ascii("{\"a\":\"x~\"}"), "{\"a\":\"x~\"}");
        assert_eq!(ascii("\"é\u{7f}😀\""), r#""\u00e9\u007f\ud83d\ude00""#);
    }
}
