//! Base64 of files as the original service reads it: the standard alphabet with padding, and line breaks
//! anywhere. Official A2A reads by the rule of [`Base64`](jackfield_model::Base64).

use base64::{
    DecodeError, Engine as _,
    alphabet::STANDARD,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use jackfield_model::Base64;

/// Engine for padded base64 in the standard alphabet. The bits after the last byte need not be zero, because
/// several published writers do not clear them.
const PADDED: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Returns the position where `text` is not padded base64 in the standard alphabet; `None` if valid.
pub(crate) fn fault(text: &str) -> Option<usize> {
    let error = match has_breaks(text) {
        false => PADDED.decode(text).err()?,
        true => PADDED.decode(without_breaks(text)).err()?,
    };
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => return Some(text.len()),
    };
    let mut digits = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| !is_break(*byte));
    Some(digits.nth(at).map_or(text.len(), |(at, _)| at))
}

/// Encodes a text in base64.
pub(crate) fn encode(text: &str) -> String {
    PADDED.encode(text)
}

/// Decodes base64 to a text; `None` if the bytes are not UTF-8.
pub(crate) fn decode(base64: &str) -> Option<String> {
    String::from_utf8(Base64::from(base64).decode().ok()?).ok()
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn has_breaks(text: &str) -> bool {
    text.bytes().any(is_break)
}

fn without_breaks(text: &str) -> String {
    text.replace(['\r', '\n'], "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_whole_padded_groups_are_base64() {
        for good in [
            "", "aGk=", "aA==", "aGkh", "+/+/", "aG\r\nk=", "aGk=\n", "AB==",
        ] {
            assert_eq!(fault(good), None, "{good:?}");
        }
        for bad in [
            "a", "aG", "aGk", "=", "a===", "aGk==", "aG=k", "aGk=aGk=", "-_-_", "aG k", "é",
        ] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn a_fault_is_counted_in_the_text_as_it_was_written() {
        assert_eq!(fault("aG k"), Some(2));
        assert_eq!(fault("aG\r\nk aGkh"), Some(5));
        assert_eq!(fault("aGk"), Some(3));
    }

    proptest! {
        #[test]
        fn texts_survive_the_way_through_base64(text in any::<String>()) {
            let encoded = encode(&text);
            prop_assert_eq!(fault(&encoded), None);
            prop_assert_eq!(decode(&encoded), Some(text));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), like in "[A-Za-z0-9=_\r-]*") {
            decode(&text);
            fault(&text);
            fault(&like);
            Base64::normalize(text);
            Base64::normalize(like).as_deref().map(decode);
        }
    }
}
