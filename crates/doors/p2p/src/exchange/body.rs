//! A body that ends with its stream, or does not: some peers answer and leave their side open, and over some multiplexers a
//! stream that was cut looks like one that ended. What can be told of that is told by JSON; of other bodies it cannot.

use jackfield_wire::p2p::{JsonEnd, Limits};
use serde::de::IgnoredAny;

/// A body as it comes in.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    cap: usize,
    /// Watches for the end of a JSON value; gone once the body is none.
    end: Option<JsonEnd>,
}

/// The body is larger than was allowed.
#[derive(Debug)]
pub(crate) struct TooLarge(pub(crate) usize);

impl Body {
    /// Nothing has come yet, and at most `cap` bytes may.
    pub(crate) fn new(cap: usize) -> Self {
        Self {
            bytes: Vec::new(),
            cap,
            end: Some(JsonEnd::new(Limits {
                max_bytes: cap,
                ..Limits::default()
            })),
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.bytes.len() + bytes.len() > self.cap {
            return Err(TooLarge(self.cap));
        }
        self.bytes.extend_from_slice(bytes);
        if self
            .end
            .as_mut()
            .is_some_and(|end| end.feed(bytes).is_err())
        {
            self.end = None;
        }
        Ok(())
    }

    /// What has come.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All of it.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether it is a JSON value that nothing could make longer, by its brackets.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.end
            .as_mut()
            .is_some_and(|end| end.feed(b"") == Ok(true))
    }

    /// Whether it looks like a JSON value that is complete, if nothing follows.
    pub(crate) fn may_be_whole(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.finish().is_ok())
    }

    /// Whether it is one. If not, the end of the stream is waited for from then on.
    pub(crate) fn is_whole(&mut self) -> bool {
        let is_whole = self.may_be_whole() && parse(&self.bytes).is_ok();
        if !is_whole {
            self.end = None;
        }
        is_whole
    }

    /// Whether it is the beginning of a JSON value, and no more than that. Words that begin like a number or a literal are
    /// words.
    pub(crate) fn is_cut(&self) -> bool {
        let is_begun = matches!(self.bytes.trim_ascii_start(), [b'{' | b'[' | b'"', ..]);
        is_begun && parse(&self.bytes).is_err_and(|error| error.is_eof())
    }
}

fn parse(bytes: &[u8]) -> serde_json::Result<IgnoredAny> {
    serde_json::from_slice(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Body {
        let mut body = Body::new(1000);
        for byte in text.bytes() {
            body.push(&[byte]).unwrap();
        }
        body
    }

    #[test]
    fn json_is_known_to_be_whole_or_cut_and_words_are_neither() {
        for whole in ["{}", " [1] \n", "\"a\"", "42", "null", r#"{"a":"}"}"#] {
            assert!(body(whole).is_whole() && !body(whole).is_cut(), "{whole}");
            let is_scalar = matches!(whole, "42" | "null");
            assert_eq!(body(whole).is_closed(), !is_scalar, "{whole}");
        }
        for cut in ["{", "[1,", "\"a", r#"{"a":"}"#, r#" {"a":tru"#] {
            assert!(!body(cut).is_whole() && body(cut).is_cut(), "{cut}");
        }
        for words in [
            "",
            "hello",
            "{hello",
            "[note] to you",
            "{name}",
            "true enough",
            "no",
            "\"Yes,\" he said",
            "42 apples",
        ] {
            assert!(!body(words).is_whole() && !body(words).is_cut(), "{words}");
        }
    }

    #[test]
    fn no_more_than_the_cap_is_taken() {
        let mut body = Body::new(3);
        body.push(b"abc").unwrap();
        assert!(body.push(b"d").is_err());
        assert_eq!(body.bytes(), b"abc");
    }
}
