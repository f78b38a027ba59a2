//! A body that may or may not end with its stream: some peers leave their side open after the answer, and
//! over some multiplexers a cut stream looks like an ended one. JSON shows by itself whether it is complete;
//! text ends after a silence of the peer.

use std::time::Duration;

use serde::de::IgnoredAny;

use crate::limits;
use crate::wire::{BodyLimits, JsonEnd};

/// A body while it arrives.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    /// Received bytes; for text, only those that were not taken yet.
    bytes: Vec<u8>,
    /// Bytes that may still arrive.
    room: usize,
    cap: usize,
    /// Bytes at the start of `bytes` that were taken as text.
    taken: usize,
    /// Whether any part was taken as text.
    is_taken: bool,
    /// Detector of the end of a JSON value; `None` once the body is known not to be JSON.
    end: Option<JsonEnd>,
    /// Longest pause within text.
    words_silence: Duration,
}

/// The body exceeds this many bytes.
#[derive(Debug)]
pub(crate) struct BodyTooLarge(pub(crate) usize);

/// Kind of a body that is complete or pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// One complete JSON value.
    Json,
    /// The beginning of a JSON value.
    CutJson,
    /// Text, or arbitrary bytes.
    Words,
}

impl ReplyBody {
    /// Creates an empty body of at most `cap` bytes. Text ends after `words_silence` without more of it.
    pub(crate) fn new(cap: usize, words_silence: Duration) -> Self {
        Self {
            bytes: Vec::new(),
            room: cap,
            cap,
            taken: 0,
            is_taken: false,
            end: Some(JsonEnd::new(BodyLimits {
                max_bytes: cap,
                ..BodyLimits::default()
            })),
            words_silence,
        }
    }

    /// Appends received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), BodyTooLarge> {
        let room = self.room.checked_sub(bytes.len());
        self.room = room.ok_or(BodyTooLarge(self.cap))?;
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

    /// Returns the received bytes; for text, only those that were not taken yet.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns all bytes, if none were taken.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns whether no byte has arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.is_taken
    }

    /// Returns whether some part was taken as text.
    pub(crate) fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Returns whether the body is a JSON value that its closing bracket completes.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.end
            .as_mut()
            .is_some_and(|end| end.feed(b"") == Ok(true))
    }

    /// Returns how long the peer may be silent before [`ReplyBody::kind`] decides; `None` if only the end of the
    /// stream decides.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let Some(end) = &self.end else {
            return Some(match self.is_taken {
                true => self.words_silence,
                // A moment for the end of the stream.
                false => limits::AFTER_JSON,
            });
        };
        match (end.finish(), &self.bytes[..]) {
            (Ok(()), [.., b'}' | b']']) => Some(limits::AFTER_JSON),
            // A number continues with its next digit, and another value may follow a line break.
            (Ok(()), _) => Some(limits::SILENCE),
            (Err(_), bytes) => (self.taken < bytes.len()).then_some(self.words_silence),
        }
    }

    /// Returns the kind of the bytes so far. A body that is not JSON stays text from then on; so does text
    /// that begins like a number or a literal.
    pub(crate) fn kind(&mut self) -> BodyKind {
        if self.end.is_some() {
            let is_begun = matches!(self.bytes.trim_ascii_start(), [b'{' | b'[' | b'"', ..]);
            match serde_json::from_slice::<IgnoredAny>(&self.bytes) {
                Ok(_) => return BodyKind::Json,
                Err(error) if is_begun && error.is_eof() => return BodyKind::CutJson,
                Err(_) => self.end = None,
            }
        }
        BodyKind::Words
    }

    /// Takes the text since the last call. Returns `None` while the body may still be JSON and no part was
    /// taken with [`ReplyBody::take_all`].
    pub(crate) fn take_words(&mut self) -> Option<String> {
        if self.end.is_some() && !self.is_taken {
            return None;
        }
        // An incomplete character waits for its remaining bytes.
        let fresh = &self.bytes[self.taken..];
        let whole = match std::str::from_utf8(fresh) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // Bytes that are not UTF-8 are replaced.
            _ => fresh.len(),
        };
        self.take(self.taken + whole)
    }

    /// Takes all remaining bytes as text, of whatever kind.
    pub(crate) fn take_all(&mut self) -> Option<String> {
        self.take(self.bytes.len())
    }

    fn take(&mut self, upto: usize) -> Option<String> {
        let words = String::from_utf8_lossy(&self.bytes[self.taken..upto]).into_owned();
        self.taken = upto;
        if self.end.is_none() {
            // Only JSON is parsed again.
            self.bytes.drain(..upto);
            self.taken = 0;
        }
        self.is_taken |= !words.is_empty();
        Some(words).filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> ReplyBody {
        let mut body = ReplyBody::new(1000, limits::WORDS_SILENCE);
        for byte in text.bytes() {
            body.push(&[byte]).unwrap();
        }
        body
    }

    #[test]
    fn json_is_known_to_be_whole_or_cut_and_words_are_neither() {
        for whole in ["{}", " [1] \n", "\"a\"", "42", "null", r#"{"a":"}"}"#] {
            assert_eq!(body(whole).kind(), BodyKind::Json, "{whole}");
            assert_eq!(body(whole).take_words(), None, "{whole}");
            let is_scalar = matches!(whole, "42" | "null");
            assert_eq!(body(whole).is_closed(), !is_scalar, "{whole}");
        }
        for cut in ["{", "[1,", "\"a", r#"{"a":"}"#, r#" {"a":tru"#] {
            assert_eq!(body(cut).kind(), BodyKind::CutJson, "{cut}");
            assert_eq!(body(cut).take_words(), None, "{cut}");
        }
        for words in [
            "hello",
            "{hello",
            "[note] to you",
            "{name}",
            "true enough",
            "no",
            "\"Yes,\" he said",
            "42 apples",
        ] {
            let mut body = body(words);
            assert_eq!(body.kind(), BodyKind::Words, "{words}");
            assert_eq!(body.take_words().as_deref(), Some(words));
            assert_eq!(body.take_words(), None, "{words}");
            assert_eq!(body.patience(), Some(limits::WORDS_SILENCE));
        }
    }

    #[test]
    fn silence_says_the_more_the_clearer_the_end_is() {
        for (text, patience) in [
            ("", None),
            ("{}", Some(limits::AFTER_JSON)),
            ("[{}]", Some(limits::AFTER_JSON)),
            ("{}\n", Some(limits::SILENCE)),
            ("42", Some(limits::SILENCE)),
            ("\"a\"", Some(limits::SILENCE)),
            ("{\"a\":", Some(limits::WORDS_SILENCE)),
            ("hello", Some(limits::AFTER_JSON)),
        ] {
            assert_eq!(body(text).patience(), patience, "{text:?}");
        }
        // Half of a value that was handed over may go on whenever it likes.
        let mut half = body("{\"a\":");
        assert_eq!(half.take_all().as_deref(), Some("{\"a\":"));
        assert_eq!((half.kind(), half.patience()), (BodyKind::CutJson, None));
        half.push(b"1}").unwrap();
        assert_eq!(half.take_words().as_deref(), Some("1}"));
        assert_eq!(half.kind(), BodyKind::Json);
        assert_eq!(half.patience(), Some(limits::AFTER_JSON));
    }

    #[test]
    fn words_are_taken_between_characters_and_nothing_of_them_is_lost() {
        let mut body = ReplyBody::new(1000, limits::WORDS_SILENCE);
        let text = "é".as_bytes();
        body.push(&[b"w", &text[..1]].concat()).unwrap();
        assert_eq!(body.take_words().as_deref(), Some("w"));
        assert_eq!(body.take_words(), None);
        body.push(&text[1..]).unwrap();
        assert_eq!(body.take_words().as_deref(), Some("é"));
        body.push(&[b'x', 0xff, b'y', text[0]]).unwrap();
        assert_eq!(body.take_words().as_deref(), Some("x\u{fffd}y\u{fffd}"));
        body.push(&text[..1]).unwrap();
        assert_eq!(body.take_words(), None);
        assert_eq!(body.take_all().as_deref(), Some("\u{fffd}"));
        assert_eq!(body.take_all(), None);
    }

    #[test]
    fn no_more_than_the_cap_is_taken() {
        let mut body = ReplyBody::new(3, limits::WORDS_SILENCE);
        body.push(b"abc").unwrap();
        assert_eq!(body.take_words().as_deref(), Some("abc"));
        assert!(body.push(b"d").is_err());
    }
}
