//! Names of files, which strangers choose: made safe for URLs, headers and the folders of the receivers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that need no escape in URLs and in `filename*`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Longest name that common file systems take, in bytes.
const LONGEST: usize = 255;

/// Name of a file without one.
const NAMELESS: &str = "file";

/// Returns the last part of a path, without control characters.
pub(super) fn safe(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|letter| !letter.is_control()).collect();
    let name = name.trim();
    match &name[..name.floor_char_boundary(LONGEST)] {
        // URLs with these lead to other places.
        "" | "." | ".." => NAMELESS.to_owned(),
        name => name.to_owned(),
    }
}

pub(super) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path_and_holds_nothing_that_breaks_a_header() {
        for (name, safe_name) in [
            ("plot.png", "plot.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\notes\\a b.txt", "a b.txt"),
            ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
            ("\u{202e}é\"'\0", "\u{202e}é\"'"),
            ("", "file"),
            (" \n", "file"),
            (".", "file"),
            ("x/..", "file"),
            ("x/", "file"),
        ] {
            assert_eq!(safe(name), safe_name, "{name:?}");
        }
        let long = "é".repeat(200);
        assert_eq!(safe(&long), "é".repeat(127));
    }

    #[test]
    fn an_encoded_name_is_plain_ascii() {
        assert_eq!(encoded("a-b_c.~"), "a-b_c.~");
        assert_eq!(encoded("é \"%/;"), "%C3%A9%20%22%25%2F%3B");
    }
}
