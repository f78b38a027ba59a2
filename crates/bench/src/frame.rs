//! Frames of the benchmark, as bytes ready for the socket: built once, and stamped with a number for every
//! message. Sender and receiver stamp the same template, so that checking a message is one comparison of
//! bytes.

use jackfield_agora::wire::{downlink, uplink};

/// Length of the JSON of a `send_chunk` frame.
pub(crate) const FRAME_BYTES: usize = 200;
/// Digits of a message's number.
pub(crate) const DIGITS: usize = 10;
/// Mask of every client frame. The server must unmask any key, and a fixed key saves the masking here.
const MASK: [u8; 4] = [0x5a, 0xc3, 0x17, 0x88];
/// Sample text for the rest of the chunk.
const WORDS: &str = "the tide turns before dawn and the harbour lights go out one by one while the ferry waits for ";

/// A frame with a number that can be changed in place.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    digits: usize,
    /// The mask, rotated to start at the digits.
    mask: [u8; 4],
}

impl Template {
    /// Creates a `send_chunk` frame, masked as required for clients.
    pub(crate) fn send_chunk(to: &str, stream_id: &str) -> Self {
        let json = send_chunk_json(to, stream_id);
        Self::of(json.as_bytes(), &text_frame(&json, Some(MASK)), true)
    }

    /// Creates a `reply_chunk` frame for a call, masked as required for clients.
    pub(crate) fn reply_chunk(to: &str, stream_id: &str) -> Self {
        let json = uplink::reply_chunk(to, stream_id, chunk_text(to, stream_id).as_str());
        Self::of(json.as_bytes(), &text_frame(&json, Some(MASK)), true)
    }

    /// Creates the `message_chunk` frame that the receiver of a `send_chunk` gets.
    pub(crate) fn message_chunk(from: &str, to: &str, stream_id: &str) -> Self {
        let json = downlink::message_chunk(from, stream_id, chunk_text(to, stream_id).as_str());
        Self::of(json.as_bytes(), &text_frame(&json, None), false)
    }

    /// Creates the same message as a NATS publication.
    pub(crate) fn publication(to: &str, stream_id: &str) -> Self {
        let json = send_chunk_json(to, stream_id);
        let head = format!("PUB {to} {}\r\n", json.len());
        Self::of(
            json.as_bytes(),
            format!("{head}{json}\r\n").as_bytes(),
            false,
        )
    }

    /// Creates the NATS delivery that the subscriber gets.
    pub(crate) fn delivery(to: &str, stream_id: &str) -> Self {
        let json = send_chunk_json(to, stream_id);
        let head = format!("MSG {to} 1 {}\r\n", json.len());
        Self::of(
            json.as_bytes(),
            format!("{head}{json}\r\n").as_bytes(),
            false,
        )
    }

    /// Finds the number in the JSON, and from it the position in the frame. The frame ends with the JSON, or
    /// with the JSON and a line end.
    fn of(json: &[u8], frame: &[u8], is_masked: bool) -> Self {
        let number = [b'0'; DIGITS];
        let at = json
            .windows(DIGITS)
            .position(|digits| digits == number)
            .expect("the text of a chunk begins with its number");
        let trailer = if frame.ends_with(b"\r\n") { 2 } else { 0 };
        let mask = if is_masked { MASK } else { [0; 4] };
        let turned = std::array::from_fn(|byte| mask[(at + byte) % 4]);
        Self {
            bytes: frame.to_vec(),
            digits: frame.len() - trailer - json.len() + at,
            mask: turned,
        }
    }

    /// Changes the number.
    pub(crate) fn stamp(&mut self, number: u64) {
        stamp(
            &mut self.bytes[self.digits..self.digits + DIGITS],
            self.mask,
            number,
        );
    }

    /// Returns the bytes of the frame.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Frames for a single write.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    frame_len: usize,
    digits: usize,
    mask: [u8; 4],
}

impl Batch {
    /// Creates a batch of `frames` copies of a frame.
    pub(crate) fn new(template: &Template, frames: usize) -> Self {
        Self {
            bytes: template.bytes.repeat(frames),
            frame_len: template.bytes.len(),
            digits: template.digits,
            mask: template.mask,
        }
    }

    /// Returns the first `frames` frames, numbered from `first`.
    pub(crate) fn numbered(&mut self, first: u64, frames: usize) -> &[u8] {
        let end = (frames * self.frame_len).min(self.bytes.len());
        for (frame, number) in self.bytes[..end]
            .chunks_exact_mut(self.frame_len)
            .zip(first..)
        {
            stamp(
                &mut frame[self.digits..self.digits + DIGITS],
                self.mask,
                number,
            );
        }
        &self.bytes[..end]
    }
}

fn stamp(digits: &mut [u8], mask: [u8; 4], mut number: u64) {
    for at in (0..digits.len()).rev() {
        digits[at] = (b'0' + (number % 10) as u8) ^ mask[at % 4];
        number /= 10;
    }
}

/// Returns the number at the start of a chunk's text.
pub(crate) fn number_of(text: &str) -> Option<u64> {
    text.get(..DIGITS)?.parse().ok()
}

fn send_chunk_json(to: &str, stream_id: &str) -> String {
    uplink::send_chunk(to, stream_id, chunk_text(to, stream_id).as_str())
}

/// Returns a text that gives a `send_chunk` frame [`FRAME_BYTES`] of JSON.
pub(crate) fn chunk_text(to: &str, stream_id: &str) -> String {
    let number = "0".repeat(DIGITS);
    let around = uplink::send_chunk(to, stream_id, number.as_str()).len();
    let words: String = WORDS
        .chars()
        .cycle()
        .take(FRAME_BYTES.saturating_sub(around))
        .collect();
    number + &words
}

/// Builds a complete WebSocket text frame.
pub(crate) fn text_frame(text: &str, mask: Option<[u8; 4]>) -> Vec<u8> {
    frame(1, text.as_bytes(), mask)
}

/// Builds a client's text frame.
pub(crate) fn client_text(text: &str) -> Vec<u8> {
    text_frame(text, Some(MASK))
}

/// Builds a client's pong.
pub(crate) fn client_pong(payload: &[u8]) -> Vec<u8> {
    frame(10, payload, Some(MASK))
}

fn frame(opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode];
    let masked = if mask.is_some() { 0x80 } else { 0 };
    match payload.len() {
        short @ 0..126 => bytes.push(masked | short as u8),
        long @ 126..65536 => {
            bytes.push(masked | 126);
            bytes.extend((long as u16).to_be_bytes());
        }
        huge => {
            bytes.push(masked | 127);
            bytes.extend((huge as u64).to_be_bytes());
        }
    }
    let mask = mask.inspect(|mask| bytes.extend(mask)).unwrap_or_default();
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b));
    bytes
}

/// Parses the head of a server's frame: opcode, start and end of the payload. Returns `None` if the frame is
/// incomplete.
pub(crate) fn server_frame(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let opcode = bytes.first()? & 0x0f;
    let (start, length): (usize, usize) = match bytes.get(1)? & 0x7f {
        126 => (
            4,
            usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
        ),
        127 => (
            10,
            usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?,
        ),
        short => (2, usize::from(short)),
    };
    let end = start.checked_add(length)?;
    (bytes.len() >= end).then_some((opcode, start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackfield_agora::wire::{AgoraUplink, parse};

    fn unmasked(frame: &[u8]) -> String {
        let key: [u8; 4] = frame[4..8].try_into().unwrap();
        let bytes = frame[8..].iter().zip(key.iter().cycle());
        String::from_utf8(bytes.map(|(a, b)| a ^ b).collect()).unwrap()
    }

    #[test]
    fn a_send_chunk_has_two_hundred_bytes_and_its_number() {
        let mut template = Template::send_chunk("r-17", "s");
        template.stamp(1_234_567_890);
        let json = unmasked(template.bytes());
        assert_eq!(json.len(), FRAME_BYTES);
        let Ok(AgoraUplink::Relay(relay)) = parse(&json) else {
            panic!("{json}");
        };
        assert_eq!(relay.to, "r-17");
        assert_eq!(number_of(&relay.chunk_text().unwrap()), Some(1_234_567_890));
    }

    #[test]
    fn what_the_relay_makes_of_it_is_what_the_receiver_expects() {
        let mut sent = Template::send_chunk("r-3", "stream-3");
        let mut expected = Template::message_chunk("s-3", "r-3", "stream-3");
        sent.stamp(42);
        expected.stamp(42);
        let json = unmasked(sent.bytes());
        let Ok(AgoraUplink::Relay(relay)) = parse(&json) else {
            panic!("{json}");
        };
        assert_eq!(text_frame(&relay.forward("s-3"), None), expected.bytes());
    }

    #[test]
    fn frames_of_a_batch_count_up() {
        let mut template = Template::send_chunk("r", "s");
        let mut batch = Batch::new(&template, 4);
        let bytes = batch.numbered(98, 3).to_vec();
        template.stamp(100);
        assert!(bytes.ends_with(template.bytes()));
        template.stamp(98);
        assert!(bytes.starts_with(template.bytes()));
        assert_eq!(bytes.len(), 3 * template.bytes().len());
    }

    #[test]
    fn nats_carries_the_same_json() {
        let mut sent = Template::publication("r-3", "s");
        sent.stamp(7);
        let text = String::from_utf8(sent.bytes().to_vec()).unwrap();
        assert!(text.starts_with("PUB r-3 200\r\n{"));
        assert!(text.contains("\"0000000007the tide"));
        assert!(text.ends_with("}\r\n"));
    }

    #[test]
    fn the_head_of_a_server_frame_is_read_once_the_frame_is_whole() {
        let whole = text_frame(&"x".repeat(300), None);
        assert_eq!(server_frame(&whole), Some((1, 4, 304)));
        assert_eq!(server_frame(&whole[..303]), None);
        assert_eq!(server_frame(&[0x89]), None);
        assert_eq!(server_frame(&[0x89, 0]), Some((9, 2, 2)));
    }
}
