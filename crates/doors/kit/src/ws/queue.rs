//! The writing side of a [`Ws`]. Queueing never waits, and fails only after the close. A frame is formatted
//! directly into the buffer that the next flush writes.

use tokio::io::{AsyncRead, AsyncWrite};
use tungstenite::protocol::{
    CloseFrame, Role,
    frame::{
        FrameHeader,
        coding::{CloseCode, Control, Data, OpCode},
    },
};

use super::{Ws, WsError};

/// Longest reason that fits into a close frame beside its code.
const MAX_REASON: usize = 123;

impl<S: AsyncRead + AsyncWrite + Unpin> Ws<S> {
    /// Queues a text message.
    pub fn queue_text(&mut self, text: &str) -> Result<(), WsError> {
        self.queue(OpCode::Data(Data::Text), &[text.as_bytes()])
    }

    /// Queues a binary message.
    pub fn queue_binary(&mut self, bytes: &[u8]) -> Result<(), WsError> {
        self.queue(OpCode::Data(Data::Binary), &[bytes])
    }

    /// Queues a ping. A payload of more than 125 bytes is truncated.
    pub fn queue_ping(&mut self, payload: &[u8]) -> Result<(), WsError> {
        let payload = &payload[..payload.len().min(125)];
        self.queue(OpCode::Control(Control::Ping), &[payload])
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
            self.start_codec(Vec::new());
        }
        let (codec, mut adapter) = self.codec_and_adapter(None);
        if let Some(Err(error)) = codec.map(|codec| codec.close(&mut adapter, Some(frame))) {
            tracing::trace!(%error, "close frame was not queued");
        }
        self.owes_flushed = false;
    }

    fn queue(&mut self, opcode: OpCode, payload: &[&[u8]]) -> Result<(), WsError> {
        if self.is_closing {
            return Err(WsError::Closed);
        }
        let mask = match self.role {
            Role::Server => None,
            Role::Client => Some(rand::random::<[u8; 4]>()),
        };
        let header = FrameHeader {
            opcode,
            mask,
            ..FrameHeader::default()
        };
        let length = payload.iter().map(|part| part.len()).sum::<usize>();
        let mut head = [0; 14];
        let mut unused = &mut head[..];
        header
            .format(length as u64, &mut unused)
            .map_err(WsError::from_codec)?;
        let head_length = 14 - unused.len();
        self.out.push(&[&head[..head_length]]);
        let start = self.out.push(payload);
        if let Some(mask) = mask {
            apply_mask(self.out.tail(start), mask);
        }
        self.owes_flushed = false;
        Ok(())
    }
}

/// Masks a client's payload in place, four bytes at a time.
fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let (blocks, rest) = payload.as_chunks_mut::<4>();
    let key = u32::from_ne_bytes(mask);
    for block in blocks {
        *block = (u32::from_ne_bytes(*block) ^ key).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask) {
        *byte ^= key;
    }
}
