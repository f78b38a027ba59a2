//! The events of a stream, made of bytes that come in pieces cut anywhere: the lines of `text/event-stream`.
//!
//! What an event is called and how soon to come back are not looked at: this protocol says all in the data.

use axum::body::Bytes;

use super::trouble::Trouble;

/// The mark that some editors put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a stream is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An event.
    Data {
        /// Its own id.
        id: Option<String>,
        /// Its data, with a line break between the lines.
        data: Vec<u8>,
    },
    /// Something that says nothing: a comment, or an event without data.
    Comment,
}

/// Makes events of bytes.
#[derive(Debug)]
pub(super) struct Events {
    /// What has come and is not read.
    unread: Bytes,
    /// The line that is not over.
    line: Vec<u8>,
    /// The event that is not over.
    data: Option<Vec<u8>>,
    id: Option<String>,
    is_first_line: bool,
    /// Whether the last line ended with a carriage return, so that a line feed is the rest of its end.
    after_return: bool,
    /// The most bytes of an event.
    max: usize,
}

impl Events {
    pub(super) fn new(max: usize) -> Self {
        Self {
            unread: Bytes::new(),
            line: Vec::new(),
            data: None,
            id: None,
            is_first_line: true,
            after_return: false,
            max,
        }
    }

    /// Takes what came. All that came before must have been read.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.unread = bytes;
    }

    /// The next event that is whole.
    pub(super) fn next(&mut self) -> Result<Option<Event>, Trouble> {
        while self.end_line()? {
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.take_line(&line) {
                return Ok(Some(event));
            }
            // Its room serves the next one.
            self.line = line;
            self.line.clear();
        }
        Ok(None)
    }

    /// The event that was not ended, once nothing more comes.
    pub(super) fn rest(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line);
        }
        self.end_event().filter(|event| *event != Event::Comment)
    }

    /// Goes on to the end of a line; `false` if that has not come yet.
    fn end_line(&mut self) -> Result<bool, Trouble> {
        if self.after_return && !self.unread.is_empty() {
            self.after_return = false;
            if self.unread[0] == b'\n' {
                drop(self.unread.split_to(1));
            }
        }
        let end = self
            .unread
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let taken = end.unwrap_or(self.unread.len());
        let size = self.data.as_ref().map_or(0, Vec::len) + self.line.len() + taken;
        if size > self.max {
            let why = format!("an event is larger than {} bytes", self.max);
            return Err(Trouble::Garbled(why));
        }
        self.line.extend_from_slice(&self.unread[..taken]);
        drop(self.unread.split_to(taken));
        if end.is_none() {
            return Ok(false);
        }
        self.after_return = self.unread[0] == b'\r';
        drop(self.unread.split_to(1));
        Ok(true)
    }

    /// Takes a line; an empty one ends the event.
    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let is_first = std::mem::take(&mut self.is_first_line);
        let line = match line.strip_prefix(BOM) {
            Some(rest) if is_first => rest,
            _ => line,
        };
        if line.is_empty() {
            return self.end_event();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(0) => return Some(Event::Comment),
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let id = self.id.take().filter(|id| !id.is_empty());
        let data = self.data.take()?;
        if data.is_empty() {
            return Some(Event::Comment);
        }
        Some(Event::Data { id, data })
    }
}
