//! Output of a program as lines or as pieces of text, for arbitrary bytes. Memory stays bounded by the
//! longest accepted line, and no character is split.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Default for the longest accepted line, in bytes: results of tools can be megabytes.
pub const LONGEST_LINE: usize = 16 << 20;
/// Bytes per read.
const READ: usize = 32 << 10;
/// Buffer capacity that is kept for the next line.
const KEPT: usize = 256 << 10;

/// A line of output from [`LineReader`], without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputLine {
    /// The line, with invalid UTF-8 replaced.
    Text(String),
    /// A line longer than the limit; its content is dropped.
    TooLong {
        /// Length of the line.
        bytes: u64,
    },
}

/// Reads output line by line.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    /// Bytes that were read and not returned yet; searched for a line end up to `searched`.
    buffer: Vec<u8>,
    searched: usize,
    longest: usize,
    /// Bytes dropped so far of a line that is too long.
    thrown: Option<u64>,
    is_over: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of up to [`LONGEST_LINE`] bytes.
    pub fn new(source: R) -> Self {
        Self::at_most(source, LONGEST_LINE)
    }

    /// Reads lines of up to `longest` bytes; longer lines become [`OutputLine::TooLong`].
    pub fn at_most(source: R, longest: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            searched: 0,
            longest,
            thrown: None,
            is_over: false,
        }
    }

    /// Waits for the next line; `None` at the end. The last line needs no line end. Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Option<OutputLine>> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.is_over {
                return Ok(self.last());
            }
            self.buffer.reserve(READ);
            self.is_over = self.source.read_buf(&mut self.buffer).await? == 0;
        }
    }

    /// Takes a complete line out of the buffer. Drops the start of a line that is too long.
    fn take(&mut self) -> Option<OutputLine> {
        let unsearched = &self.buffer[self.searched..];
        let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            if self.thrown.is_some() || self.buffer.len() > self.longest {
                self.throw_away(self.buffer.len());
            }
            return None;
        };
        let end = self.searched + at;
        let line = self.line(end);
        self.buffer.drain(..=end);
        self.tidy();
        Some(line)
    }

    /// Takes the rest after the last line end.
    fn last(&mut self) -> Option<OutputLine> {
        if self.buffer.is_empty() && self.thrown.is_none() {
            return None;
        }
        let line = self.line(self.buffer.len());
        self.buffer = Vec::new();
        self.searched = 0;
        Some(line)
    }

    /// Builds the line that ends at `end` in the buffer.
    fn line(&mut self, end: usize) -> OutputLine {
        let bytes = &self.buffer[..end];
        let thrown = self.thrown.take();
        if thrown.is_some() || end > self.longest {
            return OutputLine::TooLong {
                bytes: thrown.unwrap_or(0) + end as u64,
            };
        }
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        OutputLine::Text(String::from_utf8_lossy(bytes).into_owned())
    }

    fn throw_away(&mut self, count: usize) {
        *self.thrown.get_or_insert(0) += count as u64;
        self.buffer.drain(..count);
        self.tidy();
    }

    fn tidy(&mut self) {
        self.searched = 0;
        if self.buffer.capacity() > KEPT {
            self.buffer.shrink_to(KEPT);
        }
    }
}

/// Reads output as it arrives, in pieces that never split a character.
#[derive(Debug)]
pub struct TextReader<R> {
    source: R,
    /// Start of an incomplete character.
    begun: Vec<u8>,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> TextReader<R> {
    /// Reads the pieces of `source`.
    pub fn new(source: R) -> Self {
        Self {
            source,
            begun: Vec::new(),
            buffer: Vec::with_capacity(READ),
        }
    }

    /// Waits for the next piece; `None` at the end. Cancel-safe.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            self.buffer.clear();
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                let rest = std::mem::take(&mut self.begun);
                let rest = String::from_utf8_lossy(&rest).into_owned();
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            }
            self.begun.extend_from_slice(&self.buffer);
            let text = take_text(&mut self.begun);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }
}

/// Takes all complete characters. Replaces invalid bytes and keeps an incomplete character at the end.
fn take_text(bytes: &mut Vec<u8>) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut begun = 0;
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        let is_begun = chunks.peek().is_none()
            && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if is_begun {
            begun = invalid.len();
        } else if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    bytes.drain(..bytes.len() - begun);
    text
}

#[cfg(test)]
mod tests {
    use tokio_test_reader::reader;

    use super::*;

    /// A reader that returns exactly these pieces, one per read.
    mod tokio_test_reader {
        use std::{
            io,
            pin::Pin,
            task::{Context, Poll},
        };

        use tokio::io::{AsyncRead, ReadBuf};

        pub(super) struct Reader(std::vec::IntoIter<Vec<u8>>);

        pub(super) fn reader(pieces: &[&[u8]]) -> Reader {
            let pieces: Vec<_> = pieces.iter().map(|piece| piece.to_vec()).collect();
            Reader(pieces.into_iter())
        }

        impl AsyncRead for Reader {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                if let Some(piece) = self.0.next() {
                    buf.put_slice(&piece);
                }
                Poll::Ready(Ok(()))
            }
        }
    }

    async fn lines(longest: usize, pieces: &[&[u8]]) -> Vec<OutputLine> {
        let mut lines = LineReader::at_most(reader(pieces), longest);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    fn text(text: &str) -> OutputLine {
        OutputLine::Text(text.to_owned())
    }

    #[tokio::test]
    async fn lines_are_put_together_and_the_last_needs_no_end() {
        let got = lines(99, &[b"on", b"e\r\ntwo\n\nthr", b"ee"]).await;
        assert_eq!(got, [text("one"), text("two"), text(""), text("three")]);
        assert_eq!(lines(99, &[b"a\n"]).await, [text("a")]);
        assert_eq!(lines(99, &[]).await, []);
    }

    #[tokio::test]
    async fn what_is_no_utf8_is_replaced() {
        assert_eq!(
            lines(99, &[b"a\xffb\n", b"\xc3", b"\xa4\n"]).await,
            [text("a\u{fffd}b"), text("\u{e4}")]
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_not() {
        let got = lines(3, &[b"abc\nabcd\nx", b"yzab", b"c", b"d\nend"]).await;
        let too_long = |bytes| OutputLine::TooLong { bytes };
        assert_eq!(got, [text("abc"), too_long(4), too_long(7), text("end")]);
        assert_eq!(lines(3, &[b"ab", b"cd"]).await, [too_long(4)]);
    }

    #[tokio::test]
    async fn a_hundred_mebibytes_in_one_line_need_little_memory() {
        let source = tokio::io::AsyncReadExt::take(tokio::io::repeat(b'x'), 100 << 20);
        let source = tokio::io::AsyncReadExt::chain(source, &b"\nafter"[..]);
        let mut lines = LineReader::at_most(source, 1 << 20);
        let first = lines.next().await.unwrap();
        assert_eq!(first, Some(OutputLine::TooLong { bytes: 100 << 20 }));
        assert!(lines.buffer.capacity() <= KEPT.max(READ));
        assert_eq!(lines.next().await.unwrap(), Some(text("after")));
        assert_eq!(lines.next().await.unwrap(), None);
    }

    async fn pieces(pieces: &[&[u8]]) -> Vec<String> {
        let mut source = TextReader::new(reader(pieces));
        let mut all = Vec::new();
        while let Some(piece) = source.next().await.unwrap() {
            all.push(piece);
        }
        all
    }

    #[tokio::test]
    async fn pieces_are_not_cut_inside_a_character() {
        let crab = "\u{1f980}".as_bytes();
        let got = pieces(&[b"a", &crab[..1], &crab[1..3], &crab[3..], b"\n"]).await;
        assert_eq!(got, ["a", "\u{1f980}", "\n"]);
        // Invalid bytes in the middle and at the end.
        assert_eq!(pieces(&[b"\xf0\x9f", b"x"]).await, ["\u{fffd}x"]);
        assert_eq!(pieces(&[b"a\xff\xe2\x82"]).await, ["a\u{fffd}", "\u{fffd}"]);
    }
}
