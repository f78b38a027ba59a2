//! Parses a stream of frames as its bytes arrive.
//!
//! A caller that asked for frames may get a plain body from a peer that does not know them; the first line
//! decides.

use std::ops::Range;

use super::Frame;
use crate::wire::PeerInputError;

/// Parser of the frames of one answer.
#[derive(Debug)]
pub struct FrameReader {
    /// Bytes that are not parsed yet.
    buffer: Vec<u8>,
    /// Start of the next line in the buffer.
    start: usize,
    /// End of the part of the buffer that was searched for a line break.
    searched: usize,
    kind: Kind,
    /// Most bytes of a plain body or of a line.
    max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first line is incomplete.
    Unknown,
    /// The first line was no frame.
    Plain,
    /// The first line was a frame.
    Frames,
    /// The last frame has arrived.
    Ended,
}

/// What an ended stream was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameStreamEnd {
    /// Frames up to a last one.
    Complete,
    /// Frames without a last one: the peer failed.
    Cut,
    /// A plain body.
    Plain(Vec<u8>),
}

impl FrameReader {
    /// Creates a parser. A plain body may have `max` bytes, and so may a line: some peers put a whole answer
    /// into one.
    pub fn new(max: usize) -> Self {
        FrameReader {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            kind: Kind::Unknown,
            max,
        }
    }

    /// Feeds the next bytes and returns the complete frames, without those of unknown types. Bytes after the
    /// last frame are dropped.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, PeerInputError> {
        if self.kind != Kind::Ended {
            self.buffer.extend_from_slice(bytes);
        }
        let mut frames = Vec::new();
        while matches!(self.kind, Kind::Unknown | Kind::Frames)
            && let Some(line) = self.next_line()
        {
            self.take_line(line, &mut frames)?;
        }
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.kind != Kind::Ended && self.buffer.len() > self.max {
            let unit = match self.kind {
                Kind::Frames => "bytes in a line",
                _ => "bytes",
            };
            return Err(PeerInputError::too_large(self.max, unit));
        }
        Ok(frames)
    }

    /// Handles the end of the stream. Returns the frame of a last line without a line break, and what the
    /// stream was.
    pub fn finish(mut self) -> (Option<Frame>, FrameStreamEnd) {
        let mut frames = Vec::new();
        let has_rest = !self.buffer.trim_ascii().is_empty();
        if has_rest && matches!(self.kind, Kind::Unknown | Kind::Frames) {
            // An unreadable frame was cut, which the verdict says.
            self.take_line(0..self.buffer.len(), &mut frames).ok();
        }
        let verdict = match self.kind {
            Kind::Ended => FrameStreamEnd::Complete,
            Kind::Frames => FrameStreamEnd::Cut,
            Kind::Unknown | Kind::Plain => FrameStreamEnd::Plain(self.buffer),
        };
        (frames.pop(), verdict)
    }

    /// Returns the range of the next complete line.
    fn next_line(&mut self) -> Option<Range<usize>> {
        let fresh = &self.buffer[self.searched..];
        let Some(at) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        Some(self.start..self.searched + at + 1)
    }

    /// Parses a line as a frame, or as the beginning of a plain body, which stays in the buffer.
    fn take_line(
        &mut self,
        line: Range<usize>,
        frames: &mut Vec<Frame>,
    ) -> Result<(), PeerInputError> {
        let end = line.end;
        let line = &self.buffer[line];
        if self.kind == Kind::Frames && line.trim_ascii().is_empty() {
            (self.start, self.searched) = (end, end);
            return Ok(());
        }
        let frame = Frame::read(line, self.max);
        match (self.kind, frame) {
            // A frame with a missing field is no body: its writer gets the fault.
            (Kind::Unknown, Err(fault)) if Frame::is_meant(line, self.max) => return Err(fault),
            // A body with a type of its own is no frame.
            (Kind::Unknown, Err(_) | Ok(Frame::Unknown)) => self.kind = Kind::Plain,
            (_, Err(fault)) => return Err(fault),
            (_, Ok(frame)) => {
                self.kind = match frame.is_last() {
                    true => Kind::Ended,
                    false => Kind::Frames,
                };
                (self.start, self.searched) = (end, end);
                if frame != Frame::Unknown {
                    frames.push(frame);
                }
            }
        }
        Ok(())
    }
}
