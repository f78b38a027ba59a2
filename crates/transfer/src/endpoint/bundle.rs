//! An archive ready to be sent. Its file is unnamed, and vanishes with the last handle even if the process is
//! killed.

use std::{fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

use bytes::Bytes;
use jackfield_model::Offer;

use crate::endpoint::work::blocking;

/// Size of a piece: one message of the channel.
pub(crate) const PIECE: usize = 64 << 10;
/// Bytes per read.
const READ_AHEAD: usize = 16 * PIECE;

/// An archive ready to be sent with its [`Offer`], any number of times.
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

    /// Returns the offer for the peer.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.offer.zip_size
    }

    /// Returns a reader of the bytes from offset `from` on.
    pub fn pieces(&self, from: u64) -> BundleReader {
        BundleReader {
            file: self.file.clone(),
            at: from,
            end: self.size(),
            ahead: Bytes::new(),
        }
    }
}

/// Reader of the bytes of a [`Bundle`], in pieces of 64 KiB.
#[derive(Debug)]
pub struct BundleReader {
    file: Arc<File>,
    /// Offset of the next read.
    at: u64,
    end: u64,
    /// Bytes that were read and not returned yet.
    ahead: Bytes,
}

impl BundleReader {
    /// Returns the next piece; `None` at the end.
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
