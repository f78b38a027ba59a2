//! The subset of ZIP that archives within these limits need: deflated or stored files, no ZIP64, no
//! encryption, no comments. Reading is strict: an archive has one interpretation or is refused. A lenient
//! reader that searches could find other files than the reader that validated the archive.
//!
//! Numbers are little-endian. The layouts are sections 4.3.7, 4.3.12 and 4.3.16 of the ZIP specification
//! (APPNOTE).

mod content;
mod directory;
mod writer;

pub use self::directory::InvalidArchive;
pub(crate) use self::{
    content::{ContentError, copy},
    directory::{ZipEntry, read},
    writer::{ZipMeta, ZipWriter},
};

/// Signatures of the records.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// Lengths of the records, without the variable names and fields that follow.
const LOCAL_LEN: usize = 30;
const CENTRAL_LEN: usize = 46;
const END_LEN: usize = 22;

/// Compression methods.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Id of the extra field with the modification time, in seconds since 1970.
const TIME_FIELD: u16 = 0x5455;

/// File types in a Unix mode.
const KIND: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;
const KIND_LINK: u32 = 0o120_000;
