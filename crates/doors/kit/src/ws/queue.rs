//! The writing side of a [`Ws`]. Queueing never waits, and fails only after the close. A frame is formatted
//! directly into the buffer that the next flush writes.

use tokio::io::{AsyncRead, AsyncWrite};
use tungstenite::protocol::{CloseFrame, Role, frame::coding::CloseCode};

use super::{
    TextFrames, Ws, WsError,
    frames::{BINARY, Header, PING, TEXT},
};

/// Longest reason that fits into a close frame beside its code.
const MAX_REASON: usize = 123;

impl<S: AsyncRead + AsyncWrite + Unpin> Ws<S> {
    /// Queues a text message.
    pub fn queue_text(&mut self, text: &str) -> Result<(), WsError> {
        self.queue(TEXT, text.as_bytes())
    }

    /// Queues a batch of text messages.
    pub fn queue_frames(&mut self, frames: &TextFrames) -> Result<(), WsError> {
        if self.is_closing {
            return Err(WsError::Closed);
        }
        match self.role {
            Role::Server => {
                self.out.push(&[frames.as_bytes()]);
                self.owes_flushed = false;
                Ok(())
            }
            // A client masks each frame.
            Role::Client => frames.texts().try_for_each(|text| self.queue_text(text)),
        }
    }

    /// Queues a binary message.
    pub fn queue_binary(&mut self, bytes: &[u8]) -> Result<(), WsError> {
        self.queue(BINARY, bytes)
    }

    /// Queues a ping. A payload of more than 125 bytes is truncated.
    pub fn queue_ping(&mut self, payload: &[u8]) -> Result<(), WsError> {
        let payload = &payload[..payload.len().min(125)];
        self.queue(PING, payload)
    }

    /// Queues the close frame and ends the writing side. The first call counts. A reason that does not fit is
    /// truncated.
    pub fn queue_close(&mut self, code: u16, reason: &str) {
        if self.is_closing {
            return;
        }
        self.is_closing = true;
        let reason = &reason[..reason.floor_char_boundary(MAX_REASON)];
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: reason.into(),
        };
        debug_assert!(
            frame.code.is_allowed(),
            "close code {code} must not be sent"
        );
        if self.codec.is_none() {
            self.start_codec();
        }
        let codec = self.codec_and_adapter(None);
        let closed = codec.map(|(codec, mut adapter)| codec.close(&mut adapter, Some(frame)));
        if let Some(Err(error)) = closed {
            tracing::trace!(%error, "close frame was not queued");
        }
        self.owes_flushed = false;
    }

    fn queue(&mut self, opcode: u8, payload: &[u8]) -> Result<(), WsError> {
        if self.is_closing {
            return Err(WsError::Closed);
        }
        let mut header = Header::new(opcode, payload.len());
        match self.role {
            Role::Server => {
                self.out.push(&[header.as_bytes(), payload]);
            }
            Role::Client => {
                let mask = rand::random::<[u8; 4]>();
                header.set_masked();
                let frame = self.out.push(&[header.as_bytes(), &mask, payload]);
                let start = frame + header.as_bytes().len() + mask.len();
                apply_mask(self.out.tail(start), mask);
            }
        }
        self.owes_flushed = false;
        Ok(())
    }
}

/// Masks or unmasks the payload of a client's frame in place, four bytes at a time.
pub(super) fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let (blocks, rest) = payload.as_chunks_mut::<4>();
    let key = u32::from_ne_bytes(mask);
    for block in blocks {
        *block = (u32::from_ne_bytes(*block) ^ key).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask) {
        *byte ^= key;
    }
}
