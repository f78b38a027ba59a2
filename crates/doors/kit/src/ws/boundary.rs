//! Tracks the frame boundaries of an incoming byte stream without decoding. [`FrameBoundary::is_clean`] reports
//! when all bytes given to the codec belong to delivered messages: then [`Ws`](super::Ws) drops the codec and
//! with it the codec's buffer. The codec checks validity; an invalid frame only keeps the connection from ever becoming
//! clean.

/// Longest frame header: 2 bytes, 8 of length, 4 of mask.
const HEADER_MAX: usize = 14;

/// Position of the last byte read within the stream of frames.
#[derive(Debug, Default)]
pub(super) struct FrameBoundary {
    header: [u8; HEADER_MAX],
    header_len: usize,
    payload_left: u64,
    /// Whether the current frame ends a message: true for control frames and last fragments.
    ends_message: bool,
    /// Whether a fragmented message is still missing its last fragment.
    in_message: bool,
    /// Complete messages that were read but not yet delivered.
    ready: u64,
    /// Bytes read of an incomplete message.
    unfinished: usize,
}

impl FrameBoundary {
    /// Processes bytes read from the peer.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let skipped = self.payload_left.min(bytes.len() as u64);
                self.payload_left -= skipped;
                self.unfinished += skipped as usize;
                bytes = &bytes[skipped as usize..];
            } else {
                let missing = self.header_size() - self.header_len;
                let taken = missing.min(bytes.len());
                self.header[self.header_len..self.header_len + taken]
                    .copy_from_slice(&bytes[..taken]);
                self.header_len += taken;
                bytes = &bytes[taken..];
                // The second byte may have shown that the header is longer.
                if self.header_len < 2 || self.header_len < self.header_size() {
                    continue;
                }
                self.begin_payload();
            }
            if self.payload_left == 0 {
                self.end_frame();
            }
        }
    }

    /// Returns how many more bytes surely belong to the current frame: the rest of its payload, or of its
    /// header as far as known.
    pub(super) fn wanted(&self) -> usize {
        match self.payload_left {
            0 => self.header_size() - self.header_len,
            left => usize::try_from(left).unwrap_or(usize::MAX),
        }
    }

    /// Notes that the codec delivered one message.
    pub(super) fn take(&mut self) {
        self.ready = self.ready.saturating_sub(1);
    }

    /// Returns whether every byte read belongs to a delivered message.
    pub(super) fn is_clean(&self) -> bool {
        self.ready == 0 && self.payload_left == 0 && self.header_len == 0 && !self.in_message
    }

    /// Returns the number of bytes read of an incomplete message.
    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    fn header_size(&self) -> usize {
        if self.header_len < 2 {
            return 2;
        }
        let length = match self.header[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if self.header[1] & 0x80 == 0 { 0 } else { 4 };
        2 + length + mask
    }

    fn begin_payload(&mut self) {
        let header = &self.header;
        self.payload_left = match header[1] & 0x7f {
            126 => u64::from(u16::from_be_bytes([header[2], header[3]])),
            127 => header[2..10]
                .iter()
                .fold(0, |length, byte| length << 8 | u64::from(*byte)),
            short => u64::from(short),
        };
        let is_final = header[0] & 0x80 != 0;
        let is_control = header[0] & 0x08 != 0;
        self.ends_message = is_final;
        if !is_control {
            self.in_message = !is_final;
        }
        self.header_len = 0;
    }

    fn end_frame(&mut self) {
        if self.ends_message {
            self.ready += 1;
        }
        if !self.in_message {
            self.unfinished = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tungstenite::protocol::frame::{
        Frame,
        coding::{Control, Data, OpCode},
    };

    fn bytes_of(length: usize, opcode: OpCode, is_final: bool, masked: bool) -> Vec<u8> {
        let mut frame = Frame::message(vec![7; length], OpCode::Data(Data::Binary), is_final);
        frame.header_mut().opcode = opcode;
        frame.header_mut().mask = masked.then_some([1, 2, 3, 4]);
        let mut bytes = Vec::new();
        frame.format(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_new_stream_is_clean() {
        assert!(FrameBoundary::default().is_clean());
    }

    #[test]
    fn a_control_frame_between_fragments_does_not_end_the_message() {
        let mut boundary = FrameBoundary::default();
        boundary.feed(&bytes_of(3, OpCode::Data(Data::Text), false, true));
        boundary.feed(&bytes_of(0, OpCode::Control(Control::Ping), true, true));
        boundary.take();
        assert!(!boundary.is_clean());
        assert_eq!(boundary.unfinished(), 3);
        boundary.feed(&bytes_of(3, OpCode::Data(Data::Continue), true, true));
        boundary.take();
        assert!(boundary.is_clean());
        assert_eq!(boundary.unfinished(), 0);
    }

    proptest! {
        #[test]
        fn any_split_of_the_stream_gives_the_same_boundaries(
            lengths in proptest::collection::vec(
                prop_oneof![0usize..8, 120..130usize, 65_530..65_540usize], 1..6),
            masked: bool,
            step in 1usize..5000,
        ) {
            let mut stream = Vec::new();
            for length in &lengths {
                stream.extend(bytes_of(*length, OpCode::Data(Data::Text), true, masked));
            }
            let mut boundary = FrameBoundary::default();
            let pieces = stream.chunks(step).count();
            for (at, piece) in stream.chunks(step).enumerate() {
                boundary.feed(piece);
                let is_last = at + 1 == pieces;
                prop_assert_eq!(boundary.ready == lengths.len() as u64, is_last);
                prop_assert!(!boundary.is_clean());
            }
            for _ in &lengths {
                prop_assert!(!boundary.is_clean());
                boundary.take();
            }
            prop_assert!(boundary.is_clean());
        }
    }
}
