//! One file as it is served: a safe name, a media type, and its bytes, which stay base64 until they are sent.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jackfield_model::{Base64, File, FileSource, Owner};
use sha2::{Digest as _, Sha256};

use super::name;

/// How much base64 is decoded at once: 48 KiB of bytes. Divisible by 4, so that every piece stands alone.
const PIECE: usize = 64 << 10;

/// What a file is that nobody says more of.
const ANY_BYTES: &str = "application/octet-stream";

/// What an entry weighs besides its texts.
const OVERHEAD: usize = 512;

/// One file as it is served.
#[derive(Debug, Clone)]
pub struct Held {
    name: Arc<str>,
    mime: Arc<str>,
    base64: Base64,
    len: usize,
}

impl Held {
    /// Of a file that is bytes, in base64 with padding.
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

    /// Its name: never empty, never a path, nothing that no name may hold.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name as URLs and headers carry it.
    pub fn encoded_name(&self) -> String {
        name::encoded(&self.name)
    }

    /// Its media type, as whoever sent it says.
    pub fn mime(&self) -> &str {
        &self.mime
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its bytes, decoded piece by piece.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            base64: self.base64.clone(),
            at: 0,
        }
    }

    /// The same for the same file of the same owner. Two owners have two, so that none loses it for the other.
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
        // It was decoded once before, to see how long it is.
        BASE64.decode(piece).ok()
    }
}

/// How many bytes it is; none if it is no base64 with padding.
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
