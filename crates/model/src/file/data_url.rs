//! Parser for `data:` URLs, which hold the bytes of a file: `data:TYPE;base64,BYTES`, or with the bytes
//! percent-encoded (RFC 2397).

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::Base64;

const SCHEME: &str = "data:";
const MARK: &str = ";base64";

/// Returns the media type of a `data:` URL, if present, and the bytes in base64 with padding. Returns `None`
/// for other URLs and for malformed `data:` URLs.
pub(super) fn read(url: &str) -> Option<(Option<String>, String)> {
    let rest = strip_prefix_ignoring_case(url, SCHEME)?;
    let (head, body) = rest.split_once(',')?;
    let mark = head.len().saturating_sub(MARK.len());
    let is_base64 = head
        .get(mark..)
        .is_some_and(|end| end.eq_ignore_ascii_case(MARK));
    let mime = if is_base64 { &head[..mark] } else { head };
    // Without a media type the head may still hold a parameter, which does not describe the file.
    let mime = (!mime.is_empty() && !mime.starts_with(';')).then(|| mime.to_owned());
    let bytes = if is_base64 {
        padded(body)?
    } else {
        Base64::encode(Cow::from(percent_decode_str(body))).to_string()
    };
    Some((mime, bytes))
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns the base64 text with padding and without percent escapes and white space.
fn padded(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    let mut text = text.into_owned();
    text.retain(|letter| !letter.is_ascii_whitespace());
    Base64::normalize(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_found_however_they_are_written() {
        for (url, mime, bytes) in [
            ("data:text/plain;base64,aGk=", Some("text/plain"), "aGk="),
            ("DATA:text/plain;BASE64,aGk=", Some("text/plain"), "aGk="),
            ("data:;base64,aGk=", None, "aGk="),
            ("data:image/png;base64,aGk", Some("image/png"), "aGk="),
            ("data:image/png;base64,aG%6B%3D", Some("image/png"), "aGk="),
            ("data:image/png;base64,a\nG k=", Some("image/png"), "aGk="),
            ("data:image/png;base64,-_8", Some("image/png"), "+/8="),
            ("data:image/png;base64,AB==", Some("image/png"), "AB=="),
            ("data:,h%69", None, "aGk="),
            ("data:;charset=utf-8,hi", None, "aGk="),
            (
                "data:text/plain;charset=utf-8,h%C3%A9",
                Some("text/plain;charset=utf-8"),
                "aMOp",
            ),
            ("data:text/plain;base64,", Some("text/plain"), ""),
        ] {
            let read = read(url).unwrap_or_else(|| panic!("{url}"));
            assert_eq!(read, (mime.map(str::to_owned), bytes.to_owned()), "{url}");
        }
    }

    #[test]
    fn other_addresses_and_nonsense_are_left_alone() {
        for url in [
            "",
            "data",
            "data:",
            "data:text/plain;base64",
            "data:text/plain;base64,a",
            "data:text/plain;base64,§§§§",
            "data:text/plain;base64,aGk=aGk=",
            "https://files.example/data:,x",
            "daté:,x",
        ] {
            assert_eq!(read(url), None, "{url}");
        }
    }
}
