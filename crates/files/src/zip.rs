//! The form of an archive: as much of ZIP as archives of these limits need. Files are deflated or stored; no ZIP64, no
//! encryption, no comments. It is read strictly: there is one way to understand an archive, or it is refused. A reader
//! that searches and forgives finds other files in an archive than the one who checked it.
//!
//! The numbers are little-endian; the layouts are sections 4.3.7, 4.3.12 and 4.3.16 of the ZIP specification (APPNOTE).

mod content;
mod directory;
mod writer;

pub use self::directory::BadArchive;
pub(crate) use self::{
    content::{Broken, copy},
    directory::{Entry, read},
    writer::{Meta, Writer},
};

/// How each of the records begins.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// How long the records are, without the names and fields that follow.
const LOCAL_LEN: usize = 30;
const CENTRAL_LEN: usize = 46;
const END_LEN: usize = 22;

/// Ways of compression.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The extra field with the time of the last change, in seconds since 1970.
const TIME_FIELD: u16 = 0x5455;

/// Kinds of files, as Unix has them in the mode.
const KIND: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;
const KIND_LINK: u32 = 0o120_000;
