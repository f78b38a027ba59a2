//! SHA-256 of a file.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use sha2::{Digest as _, Sha256};

use crate::endpoint::work::CancelFlag;

/// Bytes per read.
const PIECE: usize = 256 << 10;

/// Returns the SHA-256 of a file, in hexadecimal, and its size.
pub(crate) fn sha256(file: &File, wanted: &CancelFlag) -> io::Result<(String, u64)> {
    let mut sha = Sha256::new();
    let mut size = 0;
    let mut piece = vec![0; PIECE];
    loop {
        wanted.check()?;
        let read = match file.read_at(&mut piece, size) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        sha.update(&piece[..read]);
        size += read as u64;
    }
    let hex = sha.finalize().into_iter().map(|byte| format!("{byte:02x}"));
    Ok((hex.collect(), size))
}
