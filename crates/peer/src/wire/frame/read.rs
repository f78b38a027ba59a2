//! Taking a stream of frames apart as its bytes come in.
//!
//! Who asks for frames may get a plain body all the same, from a peer that does not know them: the first line tells.

use std::ops::Range;

use super::Frame;
use crate::wire::PeerInputError;

/// Reads the frames of one answer.
#[derive(Debug)]
pub struct FrameReader {
    /// What is not yet taken apart.
    buffer: Vec<u8>,
    /// Where in the buffer the next line begins.
    start: usize,
    /// Up to where the buffer was searched for the end of that line.
    searched: usize,
    kind: Kind,
    /// How many bytes a plain body, or a line, may have.
    max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first line has not come.
    Unknown,
    /// It was no frame.
    Plain,
    /// It was one.
    Frames,
    /// The last frame has come.
    Ended,
}

/// What a stream was, now that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Frames up to a last one.
    Complete,
    /// Frames without a last one: the peer failed.
    Cut,
    /// A plain body.
    Plain(Vec<u8>),
}

impl FrameReader {
    /// Nothing has come yet. A plain body may have `max` bytes, and so may a line: some peers put a whole answer into one.
    pub fn new(max: usize) -> Self {
        FrameReader {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            kind: Kind::Unknown,
            max,
        }
    }

    /// Takes the next bytes, then gives the frames that are whole by now, without those of types that we do not know. What
    /// follows the last frame is dropped.
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

    /// The stream ended: what it was, and the frame of a last line without a line break.
    pub fn finish(mut self) -> (Option<Frame>, Verdict) {
        let mut frames = Vec::new();
        let has_rest = !self.buffer.trim_ascii().is_empty();
        if has_rest && matches!(self.kind, Kind::Unknown | Kind::Frames) {
            // A frame that cannot be read was cut, which the verdict says.
            self.take_line(0..self.buffer.len(), &mut frames).ok();
        }
        let verdict = match self.kind {
            Kind::Ended => Verdict::Complete,
            Kind::Frames => Verdict::Cut,
            Kind::Unknown | Kind::Plain => Verdict::Plain(self.buffer),
        };
        (frames.pop(), verdict)
    }

    /// Where the next whole line is.
    fn next_line(&mut self) -> Option<Range<usize>> {
        let fresh = &self.buffer[self.searched..];
        let Some(at) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        Some(self.start..self.searched + at + 1)
    }

    /// Takes a line for a frame, or for the beginning of a plain body, which then stays in the buffer.
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
            // One that lacks something is no body: whoever wrote it learns what.
            (Kind::Unknown, Err(fault)) if Frame::is_meant(line, self.max) => return Err(fault),
            // A body that says some type of its own is no frame.
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
