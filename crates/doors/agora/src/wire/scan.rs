//! Finds the fields of a frame without decoding any value.
//!
//! The hub reads every relayed frame with [`scan`]. The scan accepts only what it can check itself: names
//! without escapes, strings, `true`, `false` and `null`; numbers, arrays and objects are checked by serde_json.
//! For anything else, errors included, it gives up, and the caller reads the frame with serde_json, which also
//! words the error.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Calls `field` for each field of the object `text`: with the name, with the name in quotes as written, and
/// with the value as written. Returns `None` if the text is not an object, or not one that the scan can check;
/// `field` may have been called before.
pub(super) fn scan<'a>(
    text: &'a str,
    mut field: impl FnMut(&'a str, &'a str, &'a str),
) -> Option<()> {
    let bytes = text.as_bytes();
    let mut at = after_byte(bytes, 0, b'{')?;
    if let Some(end) = after_byte(bytes, at, b'}') {
        return is_end(bytes, end);
    }
    loop {
        let name = skip_space(bytes, at);
        let name_end = string_end(bytes, name)?;
        let quoted = &text[name..name_end];
        if quoted.contains('\\') {
            return None;
        }
        let value = skip_space(bytes, after_byte(bytes, name_end, b':')?);
        let value_end = value_end(text, value)?;
        field(
            &quoted[1..quoted.len() - 1],
            quoted,
            &text[value..value_end],
        );
        at = skip_space(bytes, value_end);
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' => return is_end(bytes, at + 1),
            _ => return None,
        }
    }
}

/// Returns `Some` if only whitespace follows.
fn is_end(bytes: &[u8], at: usize) -> Option<()> {
    (skip_space(bytes, at) == bytes.len()).then_some(())
}

#[inline]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the position after `byte`, which only whitespace may precede.
#[inline]
fn after_byte(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = skip_space(bytes, at);
    (bytes.get(at) == Some(&byte)).then_some(at + 1)
}

/// Returns the position after the value that begins at `at`.
fn value_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    match rest.first()? {
        b'"' => string_end(bytes, at),
        b't' => rest.starts_with(b"true").then_some(at + 4),
        b'f' => rest.starts_with(b"false").then_some(at + 5),
        b'n' => rest.starts_with(b"null").then_some(at + 4),
        _ => {
            let mut deserializer = serde_json::Deserializer::from_str(text.get(at..)?);
            let raw = <&RawValue>::deserialize(&mut deserializer).ok()?;
            Some(at + raw.get().len())
        }
    }
}

/// Returns the position after the JSON string that begins at `at`; `None` if the string is not valid.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = escape_end(bytes, at)?,
            // A control character.
            _ => return None,
        }
    }
}

/// Returns the position after the escape that begins at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = bytes.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// Number of bytes that are examined together first.
const BLOCK: usize = 32;

/// Returns the position of the first quote, backslash or control character from `at` on, or the length.
fn next_special(bytes: &[u8], mut at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    // Long texts have few special characters; this test compiles to vector instructions.
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    for block in blocks {
        if block
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
        {
            break;
        }
        at += BLOCK;
    }
    let (words, tail) = bytes.get(at..).unwrap_or_default().as_chunks::<8>();
    for word in words {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = tail.iter().position(|byte| is_special(*byte));
    at + special.unwrap_or(tail.len())
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Returns a word whose lowest set bit is in the first special byte of `word`; zero if there is none.
fn specials(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // A byte below `bound` sets its high bit. A borrow may set the bits of higher bytes too, never of lower ones.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGHS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    equal(b'"') | equal(b'\\') | below(word, 0x20)
}
