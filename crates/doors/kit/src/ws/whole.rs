//! The short way for the usual frame: a whole text or binary message in one frame, of moderate size.
//! [`WholeFrames`] holds the bytes that were read from the peer, and cuts such messages out of them without a
//! copy. Every other frame (control frames, fragments, large or invalid frames) goes to the codec, which
//! knows all rules of RFC 6455.

use bytes::{Buf, Bytes, BytesMut};
use tungstenite::protocol::Role;

use super::{
    frames::{BINARY, TEXT, first_byte},
    queue::apply_mask,
};

/// Largest frame that is put together here when it arrives in pieces. The codec reads larger frames into a
/// buffer of their own.
const MAX_FRAME: usize = 64 * 1024;

/// Bytes that were read and not delivered yet. Empty, without a buffer, on an idle connection.
#[derive(Debug, Default)]
pub(super) struct WholeFrames {
    unread: BytesMut,
}

/// The frame at the start of the unread bytes.
#[derive(Debug)]
pub(super) enum NextFrame {
    /// A whole text message, not yet known to be UTF-8.
    Text(Bytes),
    /// A whole binary message.
    Binary(Bytes),
    /// More bytes are needed to tell, or to complete the frame.
    Partial,
    /// A frame for the codec.
    Other,
}

impl WholeFrames {
    /// Begins with bytes that were read already.
    pub(super) fn new(read: Vec<u8>) -> Self {
        Self {
            unread: Bytes::from(read).into(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    /// Adds bytes read from the peer.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if let Shape::Usual { header, length } = self.shape(None) {
            // Room for the rest of the frame at once, instead of in steps.
            let missing = (header + length).saturating_sub(self.unread.len());
            self.unread.reserve(missing.max(bytes.len()));
        }
        self.unread.extend_from_slice(bytes);
    }

    /// Takes the next message, if it is whole and usual. `max` is the largest message.
    pub(super) fn next(&mut self, role: Role, max: usize) -> NextFrame {
        let (header, length) = match self.shape(Some((role, max))) {
            Shape::Unknown => return NextFrame::Partial,
            Shape::Other => return NextFrame::Other,
            Shape::Usual { header, length } => (header, length),
        };
        let size = header + length;
        if self.unread.len() < size {
            return NextFrame::Partial;
        }
        let is_text = self.unread[0] == first_byte(TEXT);
        let mut frame = if self.unread.len() == size {
            std::mem::take(&mut self.unread)
        } else {
            self.unread.split_to(size)
        };
        let mask = match role {
            Role::Server => frame[..header].last_chunk::<4>().copied(),
            Role::Client => None,
        };
        frame.advance(header);
        if let Some(mask) = mask {
            apply_mask(&mut frame, mask);
        }
        match is_text {
            true => NextFrame::Text(frame.freeze()),
            false => NextFrame::Binary(frame.freeze()),
        }
    }

    /// Moves at most `max` bytes into `buffer`, and returns their number.
    pub(super) fn take(&mut self, buffer: &mut [u8], max: usize) -> usize {
        let count = self.unread.len().min(buffer.len()).min(max);
        self.unread.copy_to_slice(&mut buffer[..count]);
        if self.unread.is_empty() {
            self.unread = BytesMut::new();
        }
        count
    }

    /// Returns the bytes read of an incomplete message.
    pub(super) fn unfinished(&self) -> usize {
        match self.shape(None) {
            Shape::Usual { header, .. } => self.unread.len().saturating_sub(header),
            Shape::Unknown | Shape::Other => 0,
        }
    }

    /// Reads the header at the start of the unread bytes. `rules` are our role and the largest message.
    fn shape(&self, rules: Option<(Role, usize)>) -> Shape {
        let [first, second, rest @ ..] = &self.unread[..] else {
            return Shape::Unknown;
        };
        let is_masked = second & 0x80 != 0;
        let is_usual = |opcode| *first == first_byte(opcode);
        if !(is_usual(TEXT) || is_usual(BINARY)) {
            return Shape::Other;
        }
        let (header, length) = match second & 0x7f {
            126 => match rest.first_chunk() {
                Some(length) => (4, usize::from(u16::from_be_bytes(*length))),
                None => return Shape::Unknown,
            },
            127 => return Shape::Other,
            short => (2, usize::from(short)),
        };
        let header = header + if is_masked { 4 } else { 0 };
        if let Some((role, max)) = rules
            && (is_masked != (role == Role::Server) || length > max)
        {
            return Shape::Other;
        }
        match header + length <= MAX_FRAME {
            true => Shape::Usual { header, length },
            false => Shape::Other,
        }
    }

    #[cfg(test)]
    pub(super) fn capacity_for_tests(&self) -> usize {
        self.unread.capacity()
    }
}

/// What the header of a frame says.
enum Shape {
    /// The header is incomplete.
    Unknown,
    /// The frame is for the codec.
    Other,
    /// A whole message in one frame.
    Usual {
        /// Size of the header, mask included.
        header: usize,
        /// Size of the payload.
        length: usize,
    },
}
