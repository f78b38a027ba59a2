//! The canonical form of JSON (RFC 8785): the one way to write a value, so that two programs sign the same bytes.

use std::{borrow::Cow, cmp::Ordering, fmt::Write as _};

use serde_json::value::RawValue;

use super::{MAX_DEPTH, Members, depth_exceeds, elements, push_string, str_of};

/// What is left out before a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// Nothing is.
    Kept,
    /// Members and elements that are null, or empty strings, arrays and objects, also those that become empty by it.
    Dropped,
}

/// The canonical form of a value; `None` if it is no JSON, nests too deep, names a member twice (readers disagree on which
/// holds) or has a number that no double can hold.
pub fn canonical(value: &str, empty: Empty) -> Option<String> {
    if depth_exceeds(value.trim_ascii(), MAX_DEPTH) {
        return None;
    }
    let raw: &RawValue = serde_json::from_str(value).ok()?;
    let mut out = String::with_capacity(value.len());
    // A value that is dropped as a whole is an empty object.
    if !push(&mut out, raw, empty)? {
        out.push_str("{}");
    }
    Some(out)
}

/// Appends a value. False if it was left out.
fn push(out: &mut String, raw: &RawValue, empty: Empty) -> Option<bool> {
    let start = out.len();
    let is_empty = match raw.get().as_bytes().first()? {
        b'{' => push_object(out, raw, empty)?,
        b'[' => push_array(out, raw, empty)?,
        b'"' => {
            let text = str_of(raw)?;
            push_string(out, &text);
            text.is_empty()
        }
        b't' | b'f' | b'n' => {
            out.push_str(raw.get());
            raw.get() == "null"
        }
        _ => {
            push_number(out, raw.get())?;
            false
        }
    };
    let is_dropped = is_empty && empty == Empty::Dropped;
    if is_dropped {
        out.truncate(start);
    }
    Some(!is_dropped)
}

/// Appends an object, and says whether it has no members.
fn push_object(out: &mut String, raw: &RawValue, empty: Empty) -> Option<bool> {
    let members: Members<'_> = serde_json::from_str(raw.get()).ok()?;
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by(|a, b| by_utf16(&a.name, &b.name));
    if sorted.windows(2).any(|pair| pair[0].name == pair[1].name) {
        return None;
    }
    let mut is_first = true;
    out.push('{');
    for member in sorted {
        let start = out.len();
        if !is_first {
            out.push(',');
        }
        push_string(out, &member.name);
        out.push(':');
        if push(out, member.value, empty)? {
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    out.push('}');
    Some(is_first)
}

/// Appends an array, and says whether it has no elements.
fn push_array(out: &mut String, raw: &RawValue, empty: Empty) -> Option<bool> {
    let mut is_first = true;
    out.push('[');
    for element in elements(raw)? {
        let start = out.len();
        if !is_first {
            out.push(',');
        }
        if push(out, element, empty)? {
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    out.push(']');
    Some(is_first)
}

/// The order of names: that of their UTF-16 units.
fn by_utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Appends a number as ECMAScript writes it: the shortest digits that give the same double, and an exponent only for
/// what is very large or very small.
fn push_number(out: &mut String, text: &str) -> Option<()> {
    let number: f64 = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())?;
    if number == 0.0 {
        out.push('0');
        return Some(());
    }
    if number < 0.0 {
        out.push('-');
    }
    let shortest = format!("{:e}", number.abs());
    let (digits, exponent) = shortest.split_once('e')?;
    let digits = digits.replace('.', "");
    let exponent: i32 = exponent.parse().ok()?;
    let count = i32::try_from(digits.len()).ok()?;
    // Where the point stands, counted from the first digit.
    let point = exponent + 1;
    let zeros = |out: &mut String, count: i32| (0..count).for_each(|_| out.push('0'));
    match point {
        1..=21 if count <= point => {
            out.push_str(&digits);
            zeros(out, point - count);
        }
        1..=21 => {
            let (whole, rest) = digits.split_at(usize::try_from(point).ok()?);
            out.push_str(whole);
            out.push('.');
            out.push_str(rest);
        }
        -5..=0 => {
            out.push_str("0.");
            zeros(out, -point);
            out.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            // Writing to a `String` cannot fail.
            write!(
                out,
                "e{}{}",
                if exponent < 0 { '-' } else { '+' },
                exponent.abs()
            )
            .unwrap_or_default();
        }
    }
    Some(())
}

/// JSON with all that is not printable ASCII escaped, as Python's `json.dumps` writes it. Such characters stand only in
/// strings, so that the text can be taken as a whole.
pub fn ascii(json: &str) -> Cow<'_, str> {
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
        canonical(value, Empty::Kept)
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
            canonical(value, Empty::Dropped).unwrap(),
            r#"{"d":false,"e":0,"g":[1]}"#
        );
        assert_eq!(canonical(r#"{"a":[]}"#, Empty::Dropped).unwrap(), "{}");
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
