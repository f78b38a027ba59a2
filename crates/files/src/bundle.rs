//! An archive that is ready to be sent. Its file has no name and is gone with the last who holds it, even if the process
//! is killed.

use std::{fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

use bytes::Bytes;

use crate::{offer::Offer, work::blocking};

/// How large the pieces are: one message of the channel.
pub(crate) const PIECE: usize = 64 << 10;
/// How much is read at a time.
const READ_AHEAD: usize = 16 * PIECE;

/// An archive that is ready to be sent, as often as one likes.
#[derive(Debug, Clone)]
pub struct Bundle {
    file: Arc<File>,
    offer: Offer,
}

impl Bundle {
    pub(crate) fn new(file: File, offer: Offer) -> Self {
        Self {
            file: Arc::new(file),
            offer,
        }
    }

    /// What the other side is told of it.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.offer.zip_size
    }

    /// Its bytes from there on.
    pub fn pieces(&self, from: u64) -> Pieces {
        Pieces {
            file: self.file.clone(),
            at: from,
            end: self.size(),
            ahead: Bytes::new(),
        }
    }
}

/// The bytes of an archive, in pieces of 64 KiB.
#[derive(Debug)]
pub struct Pieces {
    file: Arc<File>,
    /// Where to read on.
    at: u64,
    end: u64,
    /// What was read and not given yet.
    ahead: Bytes,
}

impl Pieces {
    /// The next piece; nothing at the end.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.ahead.is_empty() {
            let left = self.end.saturating_sub(self.at);
            if left == 0 {
                return Ok(None);
            }
            let len = usize::try_from(left).map_or(READ_AHEAD, |left| left.min(READ_AHEAD));
            let (file, at) = (self.file.clone(), self.at);
            let read = blocking(move |_| {
                let mut bytes = vec![0; len];
                file.read_exact_at(&mut bytes, at).map(|()| bytes)
            });
            self.ahead = read.await??.into();
            self.at += len as u64;
        }
        Ok(Some(self.ahead.split_to(self.ahead.len().min(PIECE))))
    }
}
