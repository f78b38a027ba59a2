//! Frames in the form in which they are written: the header of a frame, and [`TextFrames`], a batch that a
//! connection writes without further work per frame.

/// Longest header of an unmasked frame: 2 bytes, 8 of length.
const HEADER_MAX: usize = 10;

/// First byte of a whole message in one frame with this opcode.
pub(super) fn first_byte(opcode: u8) -> u8 {
    0x80 | opcode
}

/// Opcode of a text message.
pub(super) const TEXT: u8 = 1;
/// Opcode of a binary message.
pub(super) const BINARY: u8 = 2;
/// Opcode of a ping.
pub(super) const PING: u8 = 9;

/// The header of a message in one unmasked frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    bytes: [u8; HEADER_MAX],
    length: usize,
}

impl Header {
    /// Returns the header for a payload of `length` bytes.
    pub(super) fn new(opcode: u8, length: usize) -> Self {
        let mut bytes = [0; HEADER_MAX];
        bytes[0] = first_byte(opcode);
        let header_length = match length {
            0..126 => {
                bytes[1] = length as u8;
                2
            }
            126..65536 => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                4
            }
            _ => {
                bytes[1] = 127;
                bytes[2..].copy_from_slice(&(length as u64).to_be_bytes());
                10
            }
        };
        Self {
            bytes,
            length: header_length,
        }
    }

    /// Marks the frame as masked; the mask itself follows the header.
    pub(super) fn set_masked(&mut self) {
        self.bytes[1] |= 0x80;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Text messages as a server writes them, one after the other.
#[derive(Debug, Default)]
pub struct TextFrames {
    bytes: Vec<u8>,
    count: usize,
    text_bytes: usize,
}

impl TextFrames {
    /// Creates an empty batch with room for texts and headers of `bytes` in all.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// Returns the size of the frame of a text of `length` bytes.
    pub fn frame_size(length: usize) -> usize {
        Header::new(TEXT, length).length + length
    }

    /// Appends a message of `length` bytes, whose text `write` appends in parts. The parts must have `length`
    /// bytes together.
    pub fn push(&mut self, length: usize, write: impl FnOnce(&mut TextWriter<'_>)) {
        let header = Header::new(TEXT, length);
        self.bytes.reserve(header.length + length);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(header.as_bytes());
        write(&mut TextWriter(&mut self.bytes));
        let written = self.bytes.len() - start - header.length;
        debug_assert_eq!(written, length, "the length of a text was given wrong");
        if written != length {
            // A wrong header would make the rest of the connection unreadable.
            let right = Header::new(TEXT, written);
            let header = start..start + header.length;
            self.bytes.splice(header, right.as_bytes().iter().copied());
        }
        self.count += 1;
        self.text_bytes += written;
    }

    /// Returns the number of messages.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes of all texts, without headers.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Returns the bytes that the batch can hold without growing.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the bytes by which the batch can grow without allocating.
    pub fn spare_capacity(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Returns the texts in their order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (header, length) = match rest {
                [_, 127, long @ ..] => {
                    let length = u64::from_be_bytes(*long.first_chunk()?);
                    (10, usize::try_from(length).ok()?)
                }
                [_, 126, high, low, ..] => (4, usize::from(u16::from_be_bytes([*high, *low]))),
                [_, length, ..] => (2, usize::from(*length)),
                _ => return None,
            };
            let (frame, others) = rest.split_at_checked(header + length)?;
            rest = others;
            // The bytes come from `str`s, so this cannot fail.
            std::str::from_utf8(&frame[header..]).ok()
        })
    }

    /// Returns the frames.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Appends parts of one text; see [`TextFrames::push`].
#[derive(Debug)]
pub struct TextWriter<'a>(&'a mut Vec<u8>);

impl TextWriter<'_> {
    /// Appends a part of the text.
    #[inline]
    pub fn push_str(&mut self, part: &str) {
        self.0.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use tungstenite::protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    };

    use super::*;

    #[test]
    fn frames_have_the_bytes_that_the_codec_writes_and_their_texts_are_found_again() {
        let texts: Vec<_> = [0, 1, 125, 126, 127, 65_535, 65_536]
            .map(|length| "é".repeat(length / 2) + &"x".repeat(length % 2))
            .into();
        let (mut frames, mut expected) = (TextFrames::default(), Vec::new());
        for text in &texts {
            let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
            frames.push(text.len(), |out| {
                out.push_str(first);
                out.push_str(second);
            });
            let frame = Frame::message(text.clone(), OpCode::Data(Data::Text), true);
            assert_eq!(TextFrames::frame_size(text.len()), frame.len());
            frame.format(&mut expected).unwrap();
        }
        assert!(frames.as_bytes() == expected);
        assert_eq!(frames.texts().collect::<Vec<_>>(), texts);
        assert_eq!(frames.count(), texts.len());
        assert_eq!(
            frames.text_bytes(),
            texts.iter().map(String::len).sum::<usize>()
        );
    }
}
