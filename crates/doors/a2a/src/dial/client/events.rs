//! Parser for `text/event-stream`, fed with byte chunks that are split anywhere.
//!
//! Event names and retry times are ignored: this protocol puts all information into the data.

use axum::body::Bytes;

use super::call_error::RemoteCallError;

/// Byte order mark, which some editors put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Element of an event stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerEvent {
    /// Event with data.
    Data {
        /// Id of the event.
        id: Option<String>,
        /// Data of the event, lines joined by line breaks.
        data: Vec<u8>,
    },
    /// Comment, or an event without data.
    Comment,
}

/// Incremental parser that turns bytes into [`AnswerEvent`]s.
#[derive(Debug)]
pub(super) struct AnswerEventParser {
    /// Received bytes that are not parsed yet.
    unread: Bytes,
    /// Current incomplete line.
    line: Vec<u8>,
    /// Data of the current incomplete event.
    data: Option<Vec<u8>>,
    id: Option<String>,
    is_first_line: bool,
    /// True if the last line ended with a carriage return. A following line feed belongs to the same line
    /// end.
    after_return: bool,
    /// Largest event in bytes.
    max: usize,
}

impl AnswerEventParser {
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

    /// Adds received bytes. All earlier bytes must have been parsed.
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.unread = bytes;
    }

    /// Returns the next complete event.
    pub(super) fn next(&mut self) -> Result<Option<AnswerEvent>, RemoteCallError> {
        while self.end_line()? {
            let line = std::mem::take(&mut self.line);
            if let Some(event) = self.take_line(&line) {
                return Ok(Some(event));
            }
            // Reuse the buffer for the next line.
            self.line = line;
            self.line.clear();
        }
        Ok(None)
    }

    /// Returns the unfinished event at the end of the stream.
    pub(super) fn rest(&mut self) -> Option<AnswerEvent> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line);
        }
        self.end_event()
            .filter(|event| *event != AnswerEvent::Comment)
    }

    /// Reads up to the end of the current line; returns `false` if the end has not arrived yet.
    fn end_line(&mut self) -> Result<bool, RemoteCallError> {
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
            return Err(RemoteCallError::Garbled(why));
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

    /// Parses a line; an empty line completes the event.
    fn take_line(&mut self, line: &[u8]) -> Option<AnswerEvent> {
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
            Some(0) => return Some(AnswerEvent::Comment),
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

    fn end_event(&mut self) -> Option<AnswerEvent> {
        let id = self.id.take().filter(|id| !id.is_empty());
        let data = self.data.take()?;
        if data.is_empty() {
            return Some(AnswerEvent::Comment);
        }
        Some(AnswerEvent::Data { id, data })
    }
}
