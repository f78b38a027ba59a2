//! [`ServedFile`]: one served file, with a safe name, a media type, and its bytes, which stay base64 until they are sent.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jackfield_model::{Base64, File, FileSource, Owner};
use sha2::{Digest as _, Sha256};

use super::name;

/// Base64 that is decoded at once: 48 KiB of bytes. Divisible by 4, so that every piece stands alone.
const PIECE: usize = 64 << 10;

/// Media type of a file without one.
const ANY_BYTES: &str = "application/octet-stream";

/// Weight of an entry besides its texts.
const OVERHEAD: usize = 512;

/// One served file.
#[derive(Debug, Clone)]
pub struct ServedFile {
    name: Arc<str>,
    mime: Arc<str>,
    base64: Base64,
    len: usize,
}

impl ServedFile {
    /// Creates an entry from a file of bytes, in base64 with padding.
    pub(super) fn of(file: &File) -> Option<Self> {
        let FileSource::Bytes(base64) = &file.source else {
            return None;
        };
        let mime = file.mime.as_deref().filter(|mime| !mime.is_empty());
        Some(Self {
            name: name::safe(file.name.as_deref().unwrap_or_default()).into(),
            mime: mime.unwrap_or(ANY_BYTES).into(),
            base64: base64.clone(),
            len: decoded_len(base64)?,
        })
    }

    /// Returns the name: never empty, never a path, without forbidden characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name as URLs and headers carry it.
    pub fn encoded_name(&self) -> String {
        name::encoded(&self.name)
    }

    /// Returns the media type, as the sender declared it.
    pub fn mime(&self) -> &str {
        &self.mime
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes, decoded piece by piece.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            base64: self.base64.clone(),
            at: 0,
        }
    }

    /// Returns the id of the file: the same for the same file of the same owner. Two owners have two files,
    /// so that neither loses it to the other.
    pub(super) fn id(&self, owner: Option<&Owner>) -> String {
        let mut digest = Sha256::new();
        let owner = owner.map_or("", Owner::as_str);
        for field in [owner, &self.name, &self.mime, &self.base64] {
            // With its length, so that no two files are written the same way.
            digest.update((field.len() as u64).to_be_bytes());
            digest.update(field.as_bytes());
        }
        super::key::hex(&digest.finalize())
    }

    pub(super) fn weight(&self) -> usize {
        OVERHEAD + self.name.len() + self.mime.len() + self.base64.len()
    }
}

/// The bytes of a file, piece by piece.
#[derive(Debug)]
pub struct Pieces {
    base64: Base64,
    at: usize,
}

impl Iterator for Pieces {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let rest = self.base64.as_bytes().get(self.at..)?;
        let piece = rest.chunks(PIECE).next()?;
        self.at += piece.len();
        // It was decoded once before, for its length.
        BASE64.decode(piece).ok()
    }
}

/// Returns the number of bytes; `None` for text that is no base64 with padding.
fn decoded_len(base64: &str) -> Option<usize> {
    let mut bytes = vec![0; PIECE.min(base64.len()) / 4 * 3];
    let (mut len, mut is_over) = (0, false);
    for piece in base64.as_bytes().chunks(PIECE) {
        // Padding is for the end only.
        if is_over {
            return None;
        }
        let decoded = BASE64.decode_slice(piece, &mut bytes).ok()?;
        is_over = decoded < piece.len() / 4 * 3;
        len += decoded;
    }
    Some(len)
}
