//! Whether a text is base64, without decoding it: standard alphabet, padded. Line breaks may stand anywhere, as the
//! original has it.

/// Where the text stops being base64; `None` if it is.
pub(in crate::wire) fn fault(text: &str) -> Option<usize> {
    let (mut digits, mut padding) = (0usize, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => {}
            b'=' if digits % 4 >= 2 && digits % 4 + padding < 4 => padding += 1,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => digits += 1,
            _ => return Some(at),
        }
    }
    (!(digits + padding).is_multiple_of(4)).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_padded_groups_are_base64() {
        for good in [
            "", "aGk=", "aA==", "aGkh", "+/+/", "aG\r\nk=", "aGk=\n", "AB==",
        ] {
            assert_eq!(fault(good), None, "{good:?}");
        }
        for (bad, at) in [
            ("a", 1),
            ("aG", 2),
            ("aGk", 3),
            ("=", 0),
            ("a===", 1),
            ("aGk==", 4),
            ("aG=k", 3),
            ("aGk=aGk=", 4),
            ("-_-_", 0),
            ("aG k", 2),
            ("é", 0),
        ] {
            assert_eq!(fault(bad), Some(at), "{bad:?}");
        }
    }
}
