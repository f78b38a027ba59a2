//! Writes an archive, file by file.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    os::unix::fs::FileExt as _,
};

use flate2::{Compression, CrcReader, read::DeflateEncoder};
use jiff::{Timestamp, tz::TimeZone};

use super::{CENTRAL, DEFLATED, END, END_LEN, KIND_FILE, LOCAL, TIME_FIELD};

/// Flag for UTF-8 names.
const UTF8: u16 = 1 << 11;
/// Format version 2.0: deflate and folders.
const VERSION: u16 = 20;
/// Creator system Unix, which gives modes a meaning.
const UNIX: u16 = 3 << 8;
/// Earliest date that ZIP can represent.
const FIRST_DAY: u16 = (1 << 5) | 1;

/// Metadata of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZipMeta {
    /// Modification time in seconds since 1970.
    pub(crate) changed: i64,
    pub(crate) is_executable: bool,
}

/// Writer of an archive.
#[derive(Debug)]
pub(crate) struct ZipWriter {
    out: BufWriter<File>,
    at: u64,
    max: u64,
    /// Records of the central directory so far.
    central: Vec<u8>,
    files: u16,
}

/// Sizes and checksum, known after the content was written.
struct Sums {
    crc: u32,
    packed: u32,
    unpacked: u32,
}

impl ZipWriter {
    /// Creates a writer for an empty file with at most `max` bytes. Exceeding the limit is an error of the
    /// kind `FileTooLarge`.
    pub(crate) fn new(file: File, max: u64) -> Self {
        Self {
            out: BufWriter::new(file),
            at: 0,
            // Larger sizes cannot be represented without ZIP64.
            max: max.min(u64::from(u32::MAX) - 1),
            central: Vec::new(),
            files: 0,
        }
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, name: &str, meta: ZipMeta, content: impl Read) -> io::Result<()> {
        let start = self.at;
        let unknown = Sums {
            crc: 0,
            packed: 0,
            unpacked: 0,
        };
        let head = local(name, meta, &unknown)?;
        self.write(&head)?;
        let data_start = self.at;
        let mut packed = DeflateEncoder::new(CrcReader::new(content), Compression::default());
        let mut piece = vec![0; 64 << 10];
        loop {
            let read = packed.read(&mut piece)?;
            if read == 0 {
                break;
            }
            self.write(&piece[..read])?;
        }
        let sums = Sums {
            crc: packed.get_ref().crc().sum(),
            packed: small(self.at - data_start)?,
            unpacked: small(packed.total_in())?,
        };
        // Some readers start at the front, so the local header gets the sums too.
        self.out.flush()?;
        self.out
            .get_ref()
            .write_all_at(&local(name, meta, &sums)?, start)?;
        central(&mut self.central, name, meta, &sums, small(start)?)?;
        self.files = self.files.checked_add(1).ok_or_else(too_large)?;
        Ok(())
    }

    /// Writes the directory and returns the file.
    pub(crate) fn finish(mut self) -> io::Result<File> {
        let start = small(self.at)?;
        let central = std::mem::take(&mut self.central);
        let mut end = Vec::with_capacity(END_LEN);
        put32(&mut end, END);
        // The number of this disk, and of the disk with the directory.
        put32(&mut end, 0);
        put16(&mut end, self.files);
        put16(&mut end, self.files);
        put32(&mut end, small(central.len() as u64)?);
        put32(&mut end, start);
        put16(&mut end, 0);
        self.write(&central)?;
        self.write(&end)?;
        Ok(self.out.into_inner()?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = self.at + bytes.len() as u64;
        if at > self.max {
            return Err(too_large());
        }
        self.out.write_all(bytes)?;
        self.at = at;
        Ok(())
    }
}

fn local(name: &str, meta: ZipMeta, sums: &Sums) -> io::Result<Vec<u8>> {
    let mut record = Vec::new();
    put32(&mut record, LOCAL);
    common(&mut record, name, meta, sums)?;
    record.extend(name.as_bytes());
    record.extend(time_field(meta));
    Ok(record)
}

fn central(
    records: &mut Vec<u8>,
    name: &str,
    meta: ZipMeta,
    sums: &Sums,
    start: u32,
) -> io::Result<()> {
    let mode = if meta.is_executable { 0o755 } else { 0o644 };
    put32(records, CENTRAL);
    put16(records, UNIX | VERSION);
    common(records, name, meta, sums)?;
    // No comment, first disk, no internal attributes.
    records.extend([0; 6]);
    put32(records, (KIND_FILE | mode) << 16);
    put32(records, start);
    records.extend(name.as_bytes());
    records.extend(time_field(meta));
    Ok(())
}

/// Writes the fields that both records share, from the version to the length of the extra fields.
fn common(record: &mut Vec<u8>, name: &str, meta: ZipMeta, sums: &Sums) -> io::Result<()> {
    let (day, time) = dos_time(meta.changed);
    let name_len = u16::try_from(name.len()).map_err(|_| too_large())?;
    put16(record, VERSION);
    put16(record, UTF8);
    put16(record, DEFLATED);
    put16(record, time);
    put16(record, day);
    put32(record, sums.crc);
    put32(record, sums.packed);
    put32(record, sums.unpacked);
    put16(record, name_len);
    put16(record, u16::try_from(time_field(meta).len()).unwrap_or(0));
    Ok(())
}

/// Builds the extra field with the exact time; empty if the time does not fit.
fn time_field(meta: ZipMeta) -> Vec<u8> {
    let Ok(changed) = i32::try_from(meta.changed) else {
        return Vec::new();
    };
    let mut field = Vec::new();
    put16(&mut field, TIME_FIELD);
    put16(&mut field, 5);
    field.push(1);
    field.extend(changed.to_le_bytes());
    field
}

/// Returns date and time in DOS format, in UTC because the format has no time zone.
fn dos_time(seconds: i64) -> (u16, u16) {
    let Ok(at) = Timestamp::from_second(seconds) else {
        return (FIRST_DAY, 0);
    };
    let at = at.to_zoned(TimeZone::UTC).datetime();
    let part = |value: i8| u16::try_from(value).unwrap_or(0);
    match u16::try_from(at.year() - 1980) {
        Ok(year @ ..128) => (
            (year << 9) | (part(at.month()) << 5) | part(at.day()),
            (part(at.hour()) << 11) | (part(at.minute()) << 5) | (part(at.second()) / 2),
        ),
        _ => (FIRST_DAY, 0),
    }
}

fn put16(record: &mut Vec<u8>, value: u16) {
    record.extend(value.to_le_bytes());
}

fn put32(record: &mut Vec<u8>, value: u32) {
    record.extend(value.to_le_bytes());
}

fn small(value: u64) -> io::Result<u32> {
    u32::try_from(value).map_err(|_| too_large())
}

fn too_large() -> io::Error {
    io::ErrorKind::FileTooLarge.into()
}
