//! Reads an archive's central directory without trusting it, and compares it with the local header of each
//! file. All checks run before a byte is unpacked.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use super::{
    CENTRAL, CENTRAL_LEN, DEFLATED, END, END_LEN, KIND, KIND_FILE, KIND_FOLDER, KIND_LINK, LOCAL,
    LOCAL_LEN, STORED, TIME_FIELD,
};
use crate::endpoint::{
    limits::{ArchiveLimits, megabytes},
    tree::{EntryNames, InvalidEntryName},
};

/// Largest directory in bytes: far more than the names of 5,000 files need.
const MAX_DIRECTORY: u64 = 16 << 20;

/// Flag bits of an encrypted entry, in one of two ways, or of an encrypted directory.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Bit of the DOS attributes that marks a folder.
const DOS_FOLDER: u32 = 1 << 4;
/// Placeholder for a number that is stored in a ZIP64 field.
const ELSEWHERE: u32 = u32::MAX;

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum InvalidArchive {
    /// Not a ZIP, or a ZIP with more than one interpretation.
    #[error("it is no proper ZIP: {0}")]
    Form(&'static str),
    /// An invalid name.
    #[error("the name {0:?} {1}")]
    Name(String, InvalidEntryName),
    /// A name that is not UTF-8.
    #[error("the name {0:?} is no UTF-8")]
    Unreadable(String),
    /// A symbolic link.
    #[error("{0:?} is a link")]
    Link(String),
    /// Neither a file nor a folder.
    #[error("{0:?} is neither file nor folder")]
    Special(String),
    /// An encrypted file.
    #[error("{0:?} is encrypted")]
    Encrypted(String),
    /// An unsupported compression method.
    #[error("{0:?} is compressed in way {1}; only deflate is taken")]
    Method(String, u16),
    /// Two files share bytes, as in a zip bomb.
    #[error("{0:?} shares bytes with another entry")]
    Overlap(String),
    /// Contradicting information about a file.
    #[error("it contradicts itself about {0:?}")]
    Contradiction(String),
    /// Too many files.
    #[error("it has more than {0} files or folders")]
    TooManyFiles(u64),
    /// The unpacked files would be too large.
    #[error("its files have more than {}", megabytes(*.0))]
    TooLarge(u64),
    /// The number of files differs from the offer.
    #[error("it has {found} files, and {offered} were offered")]
    Count {
        /// Number in the offer.
        offered: u64,
        /// Number in the archive.
        found: u64,
    },
    /// The archive cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// A valid file or folder of an archive.
#[derive(Debug)]
pub(crate) struct ZipEntry {
    /// Path of the entry; a folder's without trailing slash.
    pub(crate) name: String,
    pub(crate) is_folder: bool,
    pub(crate) is_executable: bool,
    /// Modification time in seconds since 1970, if present.
    pub(crate) changed: Option<i64>,
    pub(crate) is_deflated: bool,
    pub(crate) crc: u32,
    /// Offset of the content in the archive.
    pub(crate) start: u64,
    pub(crate) packed: u64,
    pub(crate) unpacked: u64,
}

/// Reads each [`ZipEntry`] of an archive. Returns an error if any entry is invalid.
pub(crate) fn read(
    file: &File,
    offered: u64,
    limits: ArchiveLimits,
) -> Result<Vec<ZipEntry>, InvalidArchive> {
    let size = file.metadata()?.len();
    let end_at = size
        .checked_sub(END_LEN as u64)
        .ok_or(InvalidArchive::Form("it is too short"))?;
    let (directory_at, count, directory) = directory(file, end_at)?;
    if u64::from(count) > limits.files * 2 {
        return Err(InvalidArchive::TooManyFiles(limits.files));
    }
    let mut records = RecordReader(&directory);
    let mut tree = EntryNames::new(limits);
    let mut room = limits.unpacked;
    let mut entries = Vec::with_capacity(count.into());
    // Start and end of each entry, including its local header.
    let mut spans = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (mut entry, start) = entry(&mut records)?;
        let taken = if entry.is_folder {
            tree.folder(&entry.name)
        } else {
            tree.file(&entry.name)
        };
        taken.map_err(|why| match why {
            InvalidEntryName::TooMany => InvalidArchive::TooManyFiles(limits.files),
            why => InvalidArchive::Name(entry.name.clone(), why),
        })?;
        room = room
            .checked_sub(entry.unpacked)
            .ok_or(InvalidArchive::TooLarge(limits.unpacked))?;
        entry.start = start + check_local_header(file, directory_at, start, &entry)?;
        spans.push((start, entry.start + entry.packed, entries.len()));
        entries.push(entry);
    }
    if !records.0.is_empty() {
        return Err(InvalidArchive::Form("its directory has more than it says"));
    }
    check_overlap(spans, directory_at)
        .map_err(|at| InvalidArchive::Overlap(entries.swap_remove(at).name))?;
    if tree.files() != offered {
        return Err(InvalidArchive::Count {
            offered,
            found: tree.files(),
        });
    }
    Ok(entries)
}

/// Returns the offset of the directory, its number of entries, and its bytes. The directory must end right
/// before the end record, which must be the last bytes of the file. Without a search, only one directory can
/// be found.
fn directory(file: &File, end_at: u64) -> Result<(u64, u16, Vec<u8>), InvalidArchive> {
    let mut end = [0; END_LEN];
    file.read_exact_at(&mut end, end_at)?;
    let mut end = RecordReader(&end);
    if end.u32()? != END {
        return Err(InvalidArchive::Form("it does not end as one does"));
    }
    let disks = end.u32()?;
    let (here, count) = (end.u16()?, end.u16()?);
    if disks != 0 || here != count {
        return Err(InvalidArchive::Form("it is one of several parts"));
    }
    let (len, at) = (u64::from(end.u32()?), u64::from(end.u32()?));
    if end.u16()? != 0 || at + len != end_at {
        return Err(InvalidArchive::Form("its directory is not at its end"));
    }
    if len > MAX_DIRECTORY {
        return Err(InvalidArchive::Form("its directory is too large"));
    }
    let mut directory = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut directory, at)?;
    Ok((at, count, directory))
}

/// Reads the next record of the directory. Returns the entry and the offset of its local header.
fn entry(records: &mut RecordReader<'_>) -> Result<(ZipEntry, u64), InvalidArchive> {
    let mut record = RecordReader(records.take(CENTRAL_LEN)?);
    if record.u32()? != CENTRAL {
        return Err(InvalidArchive::Form("its directory is broken"));
    }
    // Creator and required version are ignored.
    record.take(4)?;
    let (flags, method) = (record.u16()?, record.u16()?);
    record.take(4)?;
    let (crc, packed, unpacked) = (record.u32()?, record.u32()?, record.u32()?);
    let (name_len, extra_len) = (record.u16()?, record.u16()?);
    let comment_len = record.u16()?;
    let disk = record.u16()?;
    record.take(2)?;
    let (attributes, start) = (record.u32()?, record.u32()?);
    let name = text(records.take(name_len.into())?)?;
    let extra = records.take(extra_len.into())?;
    records.take(comment_len.into())?;

    if disk != 0 || [packed, unpacked, start].contains(&ELSEWHERE) {
        return Err(InvalidArchive::Form("it is ZIP64, or one of several parts"));
    }
    if flags & ENCRYPTED != 0 {
        return Err(InvalidArchive::Encrypted(name));
    }
    let mode = attributes >> 16;
    let is_folder = match (mode & KIND, name.ends_with('/')) {
        (KIND_LINK, _) => return Err(InvalidArchive::Link(name)),
        (0 | KIND_FOLDER, true) => true,
        (0 | KIND_FILE, false) if attributes & DOS_FOLDER == 0 => false,
        _ => return Err(InvalidArchive::Special(name)),
    };
    if is_folder && unpacked != 0 {
        return Err(InvalidArchive::Contradiction(name));
    }
    let is_deflated = match method {
        DEFLATED => true,
        STORED if packed == unpacked => false,
        STORED => return Err(InvalidArchive::Contradiction(name)),
        other => return Err(InvalidArchive::Method(name, other)),
    };
    let entry = ZipEntry {
        name: match name.strip_suffix('/') {
            Some(folder) => folder.to_owned(),
            None => name,
        },
        is_folder,
        is_executable: mode & 0o111 != 0,
        changed: changed(extra),
        is_deflated,
        crc,
        start: 0,
        packed: packed.into(),
        unpacked: unpacked.into(),
    };
    Ok((entry, start.into()))
}

/// Compares an entry with its local header. Returns the header's length.
fn check_local_header(
    file: &File,
    max: u64,
    start: u64,
    entry: &ZipEntry,
) -> Result<u64, InvalidArchive> {
    let contradiction = || InvalidArchive::Contradiction(entry.name.clone());
    if start + LOCAL_LEN as u64 > max {
        return Err(contradiction());
    }
    let mut bytes = [0; LOCAL_LEN];
    file.read_exact_at(&mut bytes, start)?;
    let mut record = RecordReader(&bytes);
    let is_local = record.u32()? == LOCAL;
    record.take(2)?;
    let (flags, method) = (record.u16()?, record.u16()?);
    // Time, checksum and sizes are ignored: the directory's values count, and some writers put theirs after
    // the content.
    record.take(16)?;
    let (name_len, extra_len) = (record.u16()?, record.u16()?);
    let len = (LOCAL_LEN + usize::from(name_len) + usize::from(extra_len)) as u64;
    if !is_local || start + len > max {
        return Err(contradiction());
    }
    let mut name = vec![0; name_len.into()];
    file.read_exact_at(&mut name, start + LOCAL_LEN as u64)?;
    let is_named_so = match name.strip_suffix(b"/") {
        Some(folder) => entry.is_folder && folder == entry.name.as_bytes(),
        None => !entry.is_folder && name == entry.name.as_bytes(),
    };
    let is_deflated = method == DEFLATED;
    if !is_named_so || flags & ENCRYPTED != 0 || is_deflated != entry.is_deflated {
        return Err(contradiction());
    }
    Ok(len)
}

/// Checks that entries overlap neither each other nor the directory. Returns the index of an overlapping
/// entry.
fn check_overlap(mut spans: Vec<(u64, u64, usize)>, directory_at: u64) -> Result<(), usize> {
    spans.sort_unstable();
    let mut free = 0;
    for (start, end, at) in spans {
        if start < free || end > directory_at {
            return Err(at);
        }
        free = end;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<String, InvalidArchive> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(InvalidArchive::Unreadable(
            String::from_utf8_lossy(bytes).into_owned(),
        )),
    }
}

/// Returns the modification time in the extra fields. Malformed fields are ignored.
fn changed(extra: &[u8]) -> Option<i64> {
    let mut fields = RecordReader(extra);
    loop {
        let (id, len) = (fields.u16().ok()?, fields.u16().ok()?);
        let field = fields.take(len.into()).ok()?;
        if let (TIME_FIELD, [flags, time @ ..]) = (id, field)
            && flags & 1 == 1
        {
            let time: [u8; 4] = time.get(..4)?.try_into().ok()?;
            return Some(i32::from_le_bytes(time).into());
        }
    }
}

/// Reader for the rest of a record.
struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], InvalidArchive> {
        let (field, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(InvalidArchive::Form("its directory is cut"))?;
        self.0 = rest;
        Ok(field)
    }

    fn u16(&mut self) -> Result<u16, InvalidArchive> {
        let field = self.take(2)?;
        Ok(u16::from_le_bytes([field[0], field[1]]))
    }

    fn u32(&mut self) -> Result<u32, InvalidArchive> {
        let field = self.take(4)?;
        Ok(u32::from_le_bytes([field[0], field[1], field[2], field[3]]))
    }
}
