//! What a result at the end of a reply adds to the text that was streamed before.

use crc32fast::Hasher;

/// The text of a reply that was streamed so far, as its length and a checksum: enough to tell a result that repeats the
/// text from one that says more, without holding the text.
///
/// Some agents stream their answer and repeat all of it at the end, some stream nothing and answer only at the end, and some
/// end with more than they streamed. [`rest_of`](Self::rest_of) serves all three.
#[derive(Debug, Clone, Default)]
pub struct StreamedText {
    bytes: usize,
    checksum: Hasher,
}

impl StreamedText {
    /// Adds a piece of text that was streamed.
    pub fn push(&mut self, text: &str) {
        self.bytes += text.len();
        self.checksum.update(text.as_bytes());
    }

    /// Whether no text was streamed.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// What `result` says beyond the streamed text: all of it if nothing was streamed, the rest if it begins with what was
    /// streamed. A result that words the answer differently adds nothing: the reader has the streamed answer.
    pub fn rest_of<'a>(&self, result: &'a str) -> &'a str {
        self.continued_by(result).unwrap_or_default()
    }

    /// What `result` says beyond the streamed text, or `None` if it does not begin with the streamed text.
    pub fn continued_by<'a>(&self, result: &'a str) -> Option<&'a str> {
        let (start, rest) = result.split_at_checked(self.bytes)?;
        let is_same = crc32fast::hash(start.as_bytes()) == self.checksum.clone().finalize();
        is_same.then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(chunks: &[&str]) -> StreamedText {
        let mut streamed = StreamedText::default();
        chunks.iter().for_each(|chunk| streamed.push(chunk));
        streamed
    }

    #[test]
    fn a_result_after_no_text_is_the_whole_answer() {
        assert!(streamed(&[""]).is_empty());
        assert_eq!(streamed(&[]).rest_of("all"), "all");
    }

    #[test]
    fn a_repeated_result_adds_nothing_and_a_longer_one_its_rest() {
        let text = streamed(&["Kö", "", "ln"]);
        assert_eq!(text.rest_of("Köln"), "");
        assert_eq!(text.rest_of("Köln am Rhein"), " am Rhein");
    }

    #[test]
    fn a_result_that_does_not_begin_with_the_text_adds_nothing() {
        let text = streamed(&["Kö", "ln"]);
        for other in ["", "Kö", "Kölm", "Bonn am Rhein", "Kol\u{e9}"] {
            assert_eq!(text.continued_by(other), None, "{other}");
            assert_eq!(text.rest_of(other), "", "{other}");
        }
    }
}
