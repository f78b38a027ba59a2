//! Content of an entry, inflated and verified against the directory.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    os::unix::fs::FileExt as _,
};

use flate2::{Crc, bufread::DeflateDecoder};

use super::ZipEntry;
use crate::endpoint::work::CancelFlag;

/// Bytes per read and write.
const PIECE: usize = 64 << 10;

/// Why the content of an entry is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentError {
    /// The compressed data is corrupt.
    #[error("is broken")]
    Content,
    /// The content is longer than the directory states.
    #[error("has more bytes than it says")]
    Longer,
    /// The checksum differs.
    #[error("has another checksum than it says")]
    Checksum,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the content of an [`ZipEntry`] to `to`.
pub(crate) fn copy(
    archive: &File,
    entry: &ZipEntry,
    to: impl Write,
    wanted: &CancelFlag,
) -> Result<(), ContentError> {
    let packed = FileRange {
        file: archive,
        at: entry.start,
        left: entry.packed,
    };
    let mut packed = BufReader::with_capacity(PIECE, packed);
    if !entry.is_deflated {
        return check(entry, &mut packed, to, wanted);
    }
    let mut inflated = DeflateDecoder::new(packed);
    check(entry, &mut inflated, to, wanted)?;
    // Trailing bytes would be in the archive but in no file.
    if inflated.total_in() != entry.packed {
        return Err(ContentError::Content);
    }
    Ok(())
}

fn check(
    entry: &ZipEntry,
    from: &mut impl Read,
    mut to: impl Write,
    wanted: &CancelFlag,
) -> Result<(), ContentError> {
    let mut crc = Crc::new();
    let mut size = 0;
    let mut piece = vec![0; PIECE];
    loop {
        wanted.check()?;
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The decoder reports corrupt data with this kind.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(ContentError::Content);
            }
            Err(error) => return Err(error.into()),
        };
        size += read as u64;
        if size > entry.unpacked {
            return Err(ContentError::Longer);
        }
        crc.update(&piece[..read]);
        to.write_all(&piece[..read])?;
    }
    if size != entry.unpacked {
        return Err(ContentError::Content);
    }
    if crc.sum() != entry.crc {
        return Err(ContentError::Checksum);
    }
    Ok(())
}

/// Reader for a range of a file.
struct FileRange<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for FileRange<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let max = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.file.read_at(&mut buffer[..max], self.at)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}
