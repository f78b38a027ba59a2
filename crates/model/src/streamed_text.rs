//! [`StreamedText`]: finds the part of a final result that was not streamed before.

use crc32fast::Hasher;

/// Length and checksum of the text streamed so far in a reply. They are enough to tell a result that repeats
/// the text from a longer result, without holding the text.
///
/// Some agents stream their answer and repeat all of it at the end, some stream nothing and answer only at
/// the end, and some end with more than they streamed. [`rest_of`](Self::rest_of) serves all three.
#[derive(Debug, Clone, Default)]
pub struct StreamedText {
    bytes: usize,
    checksum: Hasher,
}

impl StreamedText {
    /// Adds a piece of streamed text.
    pub fn push(&mut self, text: &str) {
        self.bytes += text.len();
        self.checksum.update(text.as_bytes());
    }

    /// Returns whether no text was streamed.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the part of `result` beyond the streamed text: all of `result` if no text was streamed, the
    /// rest if `result` starts with the streamed text. A result with different wording adds nothing, because
    /// the reader already has the streamed answer. See [`continued_by`](Self::continued_by) to tell the cases
    /// apart.
    pub fn rest_of<'a>(&self, result: &'a str) -> &'a str {
        self.continued_by(result).unwrap_or_default()
    }

    /// Returns the part of `result` beyond the streamed text, or `None` if `result` does not start with the
    /// streamed text.
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
