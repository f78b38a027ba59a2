//! The base64 of files. It is read in whatever alphabet, padded or not; it leaves in the standard's, padded.

use crate::wire::seed::base64::fault;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The same bytes as the standard has them; `None` if `text` is no base64.
pub(super) fn normal(text: String) -> Option<String> {
    if fault(&text).is_none() && !text.contains(['\r', '\n']) {
        return Some(text);
    }
    let digits = text.chars().filter(|char| !matches!(char, '\r' | '\n'));
    let mut normal: String = digits
        .map(|char| match char {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    normal.truncate(normal.trim_end_matches('=').len());
    while !normal.len().is_multiple_of(4) {
        normal.push('=');
    }
    fault(&normal).is_none().then_some(normal)
}

/// The base64 of a text.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len().div_ceil(3) * 4);
    for group in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) as usize & 63;
            let is_padding = at > group.len();
            out.push(if is_padding {
                '='
            } else {
                char::from(DIGITS[digit])
            });
        }
    }
    out
}

/// The text that a standard base64 is of; `None` if its bytes are no text.
pub(super) fn decode(base64: &str) -> Option<String> {
    let mut out = Vec::with_capacity(base64.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in base64.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        bits = (bits << 6 | u32::try_from(digit).ok()?) & 0xfff;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_alphabet_becomes_the_standards() {
        for (text, expected) in [
            ("", Some("")),
            ("aGk=", Some("aGk=")),
            ("aGk", Some("aGk=")),
            ("-_8", Some("+/8=")),
            ("aG\r\nk=\n", Some("aGk=")),
            ("aGk==", Some("aGk=")),
            ("a", None),
            ("aGkx=aGk", None),
            ("aG k", None),
            ("äöü", None),
        ] {
            assert_eq!(normal(text.into()).as_deref(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn texts_survive_the_way_through_base64(text in any::<String>()) {
            let encoded = encode(&text);
            prop_assert_eq!(fault(&encoded), None);
            prop_assert_eq!(decode(&encoded), Some(text));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), like in "[A-Za-z0-9=_-]*") {
            decode(&text);
            normal(text);
            normal(like).as_deref().map(decode);
        }
    }
}
